// Runs ui/docs/docs.js over a DOM of a few lines: the document on stdin is shown,
// everything that opens is opened. Prints {"operations","opened","text"}.
const { readFileSync } = require("node:fs");
const { join } = require("node:path");

const ids = new Map();
let opened = 0;

class Element {
  constructor(name) { Object.assign(this, { name, children: [], on: {}, attrs: {}, elements: {}, value: "" }); }
  append(...c) { this.children.push(...c); }
  replaceChildren(...c) { this.children = c; }
  setAttribute(k, v) { this.attrs[k] = v; if (k === "id") ids.set(v, this); }
  addEventListener(k, fn) { this.on[k] = fn; }
  scrollIntoView() {}
  set textContent(t) { this.children = [t]; }
  get textContent() { return this.children.map((c) => (typeof c === "string" ? c : c.textContent)).join(" "); }
}

function openAll(e, depth) {
  if (typeof e === "string" || depth > 6) return;
  if (e.name === "details" && e.on.toggle) {
    e.open = true;
    e.on.toggle();
    opened++;
  }
  e.children.forEach((c) => openAll(c, depth + (e.name === "details")));
}

const text = readFileSync(0, "utf8");
const page = Object.fromEntries(["main", "tags", "find", "key"].map((id) => [id, new Element("div")]));
global.document = { createElement: (n) => new Element(n), getElementById: (id) => page[id] || ids.get(id) };
global.location = { hash: "" };
global.fetch = async () => ({ ok: true, json: async () => JSON.parse(text) });
new Function(readFileSync(join(__dirname, "../../ui/docs/docs.js"), "utf8"))();
setTimeout(() => {
  openAll(page.main, 0);
  const operations = page.main.children.filter((c) => c.name === "details").length;
  const shown = page.main.textContent;
  page.find.value = "no-such-word";
  page.find.on.input();
  console.log(JSON.stringify({ operations, opened, none: page.main.textContent,
    odd: /\bundefined\b|\[object /.exec(shown)?.[0] ?? null, length: shown.length }));
}, 10);
