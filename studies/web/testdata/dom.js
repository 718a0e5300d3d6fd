"use strict";
// As much of a browser as the pages use. What they use beside it is undefined here and ends the test.
// Go gives request(path, headers), and the page as page(): elements are {tag, attrs, nodes}, texts are strings.

class Element {
  constructor(tag) {
    this.tag = tag;
    this.attrs = {};
    this.nodes = []; // elements and texts
    this.parent = null;
    const all = this.attrs;
    this.classList = { add(name) { all.class = all.class ? `${all.class} ${name}` : name; } };
    this.dataset = new Proxy({}, { get: (_, name) => all[`data-${name}`] });
  }

  setAttribute(name, value) { this.attrs[name] = String(value); }
  removeAttribute(name) { delete this.attrs[name]; }
  get className() { return this.attrs.class || ""; }
  set className(name) { this.attrs.class = String(name); }
  get title() { return this.attrs.title || ""; }
  set title(text) { this.attrs.title = String(text); }
  set alt(text) { this.attrs.alt = String(text); }
  set hidden(is) { if (is) this.attrs.hidden = ""; else delete this.attrs.hidden; }
  get value() { return this.attrs.value; }

  append(...nodes) {
    for (const n of nodes) {
      if (n instanceof Element) {
        if (n.parent) n.parent.nodes.splice(n.parent.nodes.indexOf(n), 1);
        n.parent = this;
      }
      this.nodes.push(n instanceof Element ? n : String(n));
    }
  }

  replaceChildren(...nodes) {
    for (const n of this.nodes) if (n instanceof Element) n.parent = null;
    this.nodes = [];
    this.append(...nodes);
  }

  get textContent() { return this.nodes.map(n => n instanceof Element ? n.textContent : n).join(""); }
  set textContent(text) { this.replaceChildren(...(text === null || text === "" ? [] : [text])); }

  // below are the elements in this one, in order.
  below(all = []) {
    for (const n of this.nodes) {
      if (!(n instanceof Element)) continue;
      all.push(n);
      n.below(all);
    }
    return all;
  }

  child(tag) {
    const e = new Element(tag);
    this.append(e);
    return e;
  }
  createTHead() { return this.child("thead"); }
  createTBody() { return this.child("tbody"); }
  insertRow() { return this.child("tr"); }
  insertCell() { return this.child("td"); }
  get options() { return this.below().filter(e => e.tag === "option"); }
}

const root = (function read(x) {
  const e = new Element(x.tag);
  Object.assign(e.attrs, x.attrs);
  e.append(...(x.nodes || []).map(n => typeof n === "string" ? n : read(n)));
  return e;
})(page());

const byID = new Map(root.below().filter(e => e.attrs.id).map(e => [e.attrs.id, e])); // the pages' own, which stay

const document = {
  hidden: false,
  get title() { return root.below().find(e => e.tag === "title").textContent; },
  set title(text) { root.below().find(e => e.tag === "title").textContent = text; },
  createElement: tag => new Element(tag),
  createElementNS: (_, tag) => new Element(tag),
  getElementById: id => byID.get(id) || null,
  // querySelectorAll knows ".class tag".
  querySelectorAll(selector) {
    const [, name, tag] = /^\.(\w+) (\w+)$/.exec(selector);
    return root.below().filter(e => (e.attrs.class || "").split(" ").includes(name)).flatMap(e => e.below().filter(b => b.tag === tag));
  },
};

function Option(text, value) {
  const e = new Element("option");
  e.attrs.value = String(value);
  e.append(text);
  return e;
}

const location = { reloads: 0, reload() { this.reloads++; } };

const timers = [];
function setTimeout(f, _, ...args) { timers.push(() => f(...args)); }

async function fetch(path, { headers }) {
  const { status, body, etag } = request(path, headers);
  return {
    status, ok: status === 200, headers: { get: name => name === "ETag" ? etag : null },
    json: async () => JSON.parse(body), text: async () => body,
  };
}

// What Go calls.
const wake = () => { for (const f of timers.splice(0)) f(); };
const click = (tag, text) => { const e = root.below().find(e => e.tag === tag && e.textContent === text); e.onclick({ target: e }); };
const choose = (id, value) => document.getElementById(id).onchange({ target: { value } });
const drawn = () => JSON.stringify(root, ["tag", "attrs", "nodes", ...new Set(root.below().flatMap(e => Object.keys(e.attrs)))]);
