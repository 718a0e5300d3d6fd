"use strict";
// What all pages share: a page asks the server every two seconds and draws what is new.

const $ = id => document.getElementById(id);
const finite = Number.isFinite;
let data = null, tag = "", lastAnswer = 0;

// showTiles shows numbers with a text below each; bad ones stand out.
function showTiles(all) {
  $("tiles").replaceChildren(...all.map(([n, text, bad]) => {
    const d = document.createElement("div"), b = document.createElement("b"), s = document.createElement("span");
    d.className = bad ? "tile bad" : "tile";
    b.textContent = n;
    s.textContent = text;
    d.append(b, s);
    return d;
  }));
}

// ask fetches a path of the server. For "data" the answer is 304 if nothing has changed.
async function ask(path) {
  const headers = path === "data" && tag ? { "If-None-Match": tag } : {};
  return fetch(path, { headers, cache: "no-store" }).catch(() => { throw new Error("the page's process does not answer"); });
}

// poll asks for data again and again. It calls draw if they are new, and after(), if given, after each answer.
async function poll(draw, after = async () => {}) {
  try {
    const r = await ask("data");
    if (r.status === 401) return location.reload();
    if (r.status === 200) {
      data = await r.json();
      draw();
      tag = r.headers.get("ETag"); // after an error in draw the same data are fetched again
    } else if (r.status !== 304) throw new Error(await r.text());
    await after();
    lastAnswer = Date.now();
    $("live").className = "";
    $("live").textContent = `as of ${new Date().toLocaleTimeString()}`;
  } catch (e) {
    $("live").className = "lost";
    $("live").textContent = e.message.trim() + (lastAnswer ? `, since ${new Date(lastAnswer).toLocaleTimeString()}` : "");
  }
  setTimeout(poll, document.hidden ? 10000 : 2000, draw, after);
}
