// Reads a JSON array of cleaned HTML; says what parse5, another parser of
// HTML, finds in each that is not of the list, or reads differently.
const parse5 = require("parse5");

const HTML = "http://www.w3.org/1999/xhtml";
const ATTRS = {
  a: ["href", "title", "target", "rel"],
  img: ["src", "alt", "title", "width", "height"],
};

function wrong(node, tags) {
  const found = [];
  for (const c of node.childNodes || []) {
    if (c.nodeName === "#text") continue;
    if (!c.tagName || !tags.includes(c.tagName) || c.namespaceURI !== HTML) found.push(c.nodeName);
    for (const a of c.attrs || []) {
      const good = (ATTRS[c.tagName] || []).includes(a.name) &&
        (a.name !== "href" || /^(https?:\/\/|mailto:)/.test(a.value)) &&
        (a.name !== "src" || a.value.startsWith("https://"));
      if (!good) found.push(`${c.tagName} ${a.name}=${a.value}`);
    }
    found.push(...wrong(c, tags));
  }
  return found;
}

const VOID = ["br", "img", "hr"];
const escape = (s) => s.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

// As hikyaku writes it, so that a difference is one of the trees.
function write(node) {
  if (node.nodeName === "#text") return escape(node.value);
  const inside = (node.childNodes || []).map(write).join("");
  if (!node.tagName) return inside;
  const attrs = node.attrs.map((a) => ` ${a.name}="${escape(a.value).replaceAll('"', "&#34;")}"`).join("");
  const line = node.tagName === "pre" && inside.startsWith("\n") ? "\n" : "";
  return `<${node.tagName}${attrs}>` + (VOID.includes(node.tagName) ? "" : `${line}${inside}</${node.tagName}>`);
}

let text = "";
process.stdin.on("data", (d) => (text += d));
process.stdin.on("end", () => {
  const { tags, docs } = JSON.parse(text);
  const out = docs.map((d) => {
    const tree = parse5.parseFragment(d);
    const again = write(tree);
    return { wrong: wrong(tree, tags), same: again === d, again };
  });
  process.stdout.write(JSON.stringify(out));
});
