"use strict";

// find returns the sections that have all words of a query, the best first. A word in a heading counts more than one in
// the text.
function find(query, sections) {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word);
  if (!words.length) return [];
  const found = [];
  for (const section of sections) {
    const page = section.page.toLowerCase(), heading = section.heading.toLowerCase();
    const text = section.text.toLowerCase();
    let score = 0;
    for (const word of words) {
      const times = (page.includes(word) ? 10 : 0) + (heading.includes(word) ? 15 : 0) +
        Math.min(5, text.split(word).length - 1);
      if (!times) { score = 0; break; }
      score += times;
    }
    if (score) found.push({ section, score });
  }
  return found.sort((a, b) => b.score - a.score).slice(0, 20).map((f) => f.section);
}

// excerpt returns the text around the first of the words.
function excerpt(query, text) {
  const word = query.toLowerCase().split(/\s+/).filter((w) => w)[0];
  const at = Math.max(0, text.toLowerCase().indexOf(word));
  const from = Math.max(0, at - 50);
  return (from ? "…" : "") + text.slice(from, at + 90) + (at + 90 < text.length ? "…" : "");
}

// show lists what was found instead of the list of pages.
function show(query, doc) {
  const list = doc.getElementById("results"), found = find(query, sections);
  list.replaceChildren(...found.map((section) => {
    const item = doc.createElement("li"), link = doc.createElement("a"), text = doc.createElement("small");
    link.href = doc.body.dataset.root + section.file;
    link.textContent = section.heading === section.page ? section.page : section.page + ": " + section.heading;
    text.textContent = excerpt(query, section.text);
    item.append(link, text);
    return item;
  }));
  if (query.trim() && !found.length) list.textContent = "Nothing has all of these words.";
  list.hidden = !query.trim();
  doc.getElementById("pages").hidden = !list.hidden;
}

if (typeof document !== "undefined") {
  document.getElementById("query").addEventListener("input", (event) => show(event.target.value, document));
}
