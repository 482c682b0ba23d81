// Shows /openapi.json: parts, operations, what they take and answer, and a form
// to try them. Text is only ever set as text, so the document can't bring markup.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];
let doc;

function el(name, attrs, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attrs || {})) {
    if (k === "class") e.className = v;
    else if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

function resolve(thing) {
  if (!thing || !thing.$ref) return thing;
  return thing.$ref.slice(2).split("/").reduce((at, part) => at[part], doc);
}

function refName(schema) {
  return schema.$ref ? schema.$ref.split("/").pop() : null;
}

/** A type in a few words. */
function typeText(schema) {
  if (!schema || Object.keys(schema).length === 0) return "anything";
  if (schema.$ref) return refName(schema);
  if (schema.anyOf) return schema.anyOf.map(typeText).join(" or ");
  const types = [].concat(schema.type || []);
  if (types.includes("array")) {
    return types.map((t) => (t === "array" ? `list of ${typeText(schema.items)}` : t)).join(" or ");
  }
  if (schema.enum) return schema.enum.map((v) => JSON.stringify(v)).join(" | ");
  const range = [schema.minimum ?? schema.minLength, schema.maximum ?? schema.maxLength];
  const bounds = range.some((v) => v !== undefined) ? ` ${range[0] ?? ""}…${range[1] ?? ""}` : "";
  return types.join(" or ") + (schema.format ? ` (${schema.format})` : "") + bounds;
}

/** What of a schema can be opened: objects, and those within lists and choices. */
function inner(schema) {
  if (!schema) return [];
  if (schema.anyOf) return schema.anyOf.flatMap(inner);
  if (schema.items) return inner(schema.items);
  const s = resolve(schema);
  if (s !== schema) return s.properties ? [schema] : inner(s);
  return schema.properties ? [schema] : [];
}

function members(schema, seen) {
  const s = resolve(schema);
  const rows = Object.entries(s.properties || {}).map(([name, m]) => el("tr", {},
    el("td", {}, el("code", {}, name),
      (s.required || []).includes(name) ? el("span", { class: "must", title: "required" }, " *") : null),
    el("td", {}, shape(m, seen),
      m.default !== undefined ? el("span", { class: "about" }, ` default ${JSON.stringify(m.default)}`) : null,
      m.description ? el("div", { class: "about" }, m.description) : null)));
  if (s.additionalProperties === true) rows.push(el("tr", {}, el("td", {}, "…"), el("td", { class: "about" }, "and others")));
  return el("table", {}, ...rows);
}

/** The type; what it has inside opens when asked for, so a loop ends nowhere. */
function shape(schema, seen = 0) {
  const parts = inner(schema);
  if (parts.length === 0) return el("span", {}, typeText(schema));
  return el("span", {}, ...parts.map((p) => {
    const d = el("details", { class: "ref" }, el("summary", {}, refName(p) || typeText(schema)));
    d.addEventListener("toggle", () => {
      if (d.open && d.children.length === 1) {
        const about = resolve(p).description;
        d.append(...(about ? [el("div", { class: "about" }, about)] : []), members(p, seen + 1));
      }
    });
    if (seen === 0 && parts.length === 1) d.open = true;
    return d;
  }));
}

function section(title, ...children) {
  return [el("h3", {}, title), ...children];
}

function example(schema) {
  const s = resolve(schema);
  if (!s) return "";
  if (s.examples) return JSON.stringify(s.examples[0], null, 2);
  const first = (s.anyOf || []).map(example).find((e) => e);
  return first || "";
}

function bodyParts(op) {
  return Object.entries((op.requestBody || {}).content || {}).flatMap(([type, c]) =>
    [el("div", {}, el("code", {}, type), " ", shape(c.schema)),
      example(c.schema) ? el("pre", {}, example(c.schema)) : null]).filter((x) => x);
}

function answers(op) {
  return el("table", {}, ...Object.entries(op.responses).map(([status, r]) => {
    const said = resolve(r);
    const content = Object.entries(said.content || {});
    return el("tr", {}, el("td", {}, el("code", {}, status)), el("td", {}, said.description,
      ...content.map(([type, c]) => el("div", {}, type === "application/json" ? "" : el("code", {}, type + " "),
        Number(status) < 400 ? shape(c.schema) : typeText(c.schema)))));
  }));
}

function security(op) {
  const names = (op.security || []).map((way) => {
    const [name, scopes] = Object.entries(way)[0] || ["nobody", []];
    return scopes.length ? `${name} with ${scopes.join(" or ")}` : name;
  });
  return el("p", { class: "about" }, names.length ? `Who may: ${names.join(", ")}` : "Anybody may");
}

async function send(path, method, op, form, out) {
  const query = new URLSearchParams();
  const headers = {};
  let url = path;
  for (const p of op.parameters || []) {
    const v = form.elements[`${p.in}.${p.name}`].value;
    if (v === "") continue;
    if (p.in === "path") url = url.replace(`{${p.name}}`, encodeURIComponent(v));
    else if (p.in === "query") query.set(p.name, v);
    else headers[p.name] = v;
  }
  const key = document.getElementById("key").value;
  if (key) headers.Authorization = `Bearer ${key}`;
  const text = form.elements.body ? form.elements.body.value : "";
  if (text) headers["Content-Type"] = Object.keys(op.requestBody.content)[0];
  out.textContent = "…";
  try {
    const answer = await fetch(url.slice(1) + (query.size ? `?${query}` : ""),
      { method: method.toUpperCase(), headers, body: text || undefined });
    const got = await answer.text();
    let shown = got;
    try { shown = JSON.stringify(JSON.parse(got), null, 2); } catch { /* no JSON: as it is */ }
    out.textContent = `${answer.status} ${answer.statusText}\n${shown}`;
  } catch (e) {
    out.textContent = String(e);
  }
}

function tryForm(path, method, op) {
  const out = el("pre", { hidden: "" });
  const fields = (op.parameters || []).map((p) => el("label", {},
    el("code", {}, p.name), el("input", { name: `${p.in}.${p.name}`, ...(p.required ? { required: "" } : {}) })));
  if (op.requestBody) {
    const area = el("textarea", { name: "body", "aria-label": "Body", spellcheck: "false" });
    area.value = example(Object.values(op.requestBody.content)[0].schema);
    fields.push(area);
  }
  const form = el("form", { onsubmit: (e) => {
    e.preventDefault();
    out.hidden = false;
    send(path, method, op, form, out);
  } }, ...fields, el("button", {}, "Send"));
  return [form, out];
}

function operation(path, method, op) {
  const d = el("details", { class: "op", id: op.operationId },
    el("summary", {}, el("span", { class: `method ${method}` }, method.toUpperCase()),
      el("span", { class: "path" }, path), el("span", { class: "about" }, op.summary)));
  d.addEventListener("toggle", () => {
    if (!d.open || d.children.length > 1) return;
    const params = (op.parameters || []).map((p) => el("tr", {},
      el("td", {}, el("code", {}, p.name), p.required ? el("span", { class: "must" }, " *") : null),
      el("td", {}, `${p.in}, ${typeText(p.schema)}`, p.description ? el("div", { class: "about" }, p.description) : null)));
    d.append(el("div", {}, security(op),
      ...(params.length ? section("Parameters", el("table", {}, ...params)) : []),
      ...(op.requestBody ? section(op.requestBody.required ? "Body" : "Body, which may be left out", ...bodyParts(op)) : []),
      ...section("Answers", answers(op)),
      ...section("Try it", ...tryForm(path, method, op))));
  });
  return d;
}

function show(words) {
  const main = document.getElementById("main");
  const nav = document.getElementById("tags");
  const tags = new Map();
  for (const [path, ops] of Object.entries(doc.paths)) {
    for (const method of METHODS.filter((m) => ops[m])) {
      const op = ops[method];
      const text = `${method} ${path} ${op.summary} ${JSON.stringify(op)}`.toLowerCase();
      if (!words.every((w) => text.includes(w))) continue;
      const tag = op.tags[0];
      if (!tags.has(tag)) tags.set(tag, []);
      tags.get(tag).push(operation(path, method, op));
    }
  }
  main.replaceChildren(...[...tags].flatMap(([tag, ops]) => [el("h2", { id: `tag-${tag}` }, tag), ...ops]));
  nav.replaceChildren(...[...tags.keys()].map((tag) => el("a", { href: `#tag-${tag}` }, tag)));
  if (tags.size === 0) main.textContent = "Nothing has that.";
}

async function start() {
  const main = document.getElementById("main");
  try {
    const answer = await fetch("openapi.json");
    if (!answer.ok) throw new Error(`openapi.json: ${answer.status}`);
    doc = await answer.json();
  } catch (e) {
    main.textContent = `The description can't be read: ${e.message}`;
    return;
  }
  const find = document.getElementById("find");
  find.addEventListener("input", () => show(find.value.toLowerCase().split(/\s+/).filter((w) => w)));
  show([]);
  const at = document.getElementById(location.hash.slice(1));
  if (at) {
    at.open = true;
    at.scrollIntoView();
  }
}

start();
