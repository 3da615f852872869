"""The page around a picture of a graph: search, zoom, moving, and neighbours of a box."""

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{title}}</title>
<style>
:root { color-scheme: light dark;
  --page: #fff; --ink: #222; --line: #777; --bar: #f2f2f4; --hit: #d00; }
@media (prefers-color-scheme: dark) {
  :root { --page: #1c1c20; --ink: #ddd; --line: #999; --bar: #2a2a30; --hit: #ff5c5c; }
}
body { margin: 0; height: 100vh; display: flex; flex-direction: column; font: 14px sans-serif;
  background: var(--page); color: var(--ink); }
#bar { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; padding: 6px 10px;
  background: var(--bar); }
#bar input { width: 16em; }
#hint { opacity: .7; }
#canvas { flex: 1; min-height: 0; overflow: hidden; cursor: grab; touch-action: none; }
#canvas.dragged { cursor: grabbing; }
svg { display: block; width: 100%; height: 100%; }
text { fill: #111; user-select: none; }
.edge { stroke: var(--line); }
.chosen .node, .searched .node { opacity: .35; }
.chosen .edge { opacity: .15; }
.chosen .node.near, .searched .node.found, .chosen .edge.near { opacity: 1; }
.edge.near { stroke: var(--hit); stroke-width: 2; }
.node.found rect, .node.self rect { stroke: var(--hit); stroke-width: 3; }
.node.current rect { stroke-width: 5; }
</style>
<div id="bar">
  <b>{{title}}</b>
  <input id="search" type="search" placeholder="search nodes" autofocus>
  <span id="count"></span>
  <button id="smaller" title="smaller">&minus;</button>
  <button id="larger" title="larger">+</button>
  <button id="fit" title="the whole picture">fit</button>
  <button id="actual" title="actual size">1:1</button>
  <span id="hint">wheel: zoom &middot; drag: move &middot; click: neighbours &middot;
    Enter, Shift+Enter: next, previous</span>
</div>
<div id="canvas">{{svg}}</div>
<script>
const canvas = document.getElementById("canvas"), svg = canvas.querySelector("svg");
const world = document.getElementById("world"), whole = svg.viewBox.baseVal;
const size = { width: whole.width, height: whole.height };
svg.removeAttribute("viewBox");
let scale = 1, left = 0, top_ = 0;

function place() { world.setAttribute("transform", `translate(${left} ${top_}) scale(${scale})`); }
function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const wanted = Math.min(8, Math.max(.01, scale * factor));
  left = x - (x - left) * wanted / scale;
  top_ = y - (y - top_) * wanted / scale;
  scale = wanted;
  place();
}
function fit() {
  scale = Math.min(canvas.clientWidth / size.width, canvas.clientHeight / size.height, 2);
  left = (canvas.clientWidth - size.width * scale) / 2;
  top_ = (canvas.clientHeight - size.height * scale) / 2;
  place();
}
// Readable from the first moment: actual size, the first box in the middle of the upper edge.
function actual() {
  scale = 1; top_ = 0;
  const first = document.querySelector(".node");
  const box = first ? first.getBBox() : { x: 0, width: 0 };
  const middle = size.width <= canvas.clientWidth ? size.width / 2 : box.x + box.width / 2;
  left = canvas.clientWidth / 2 - middle;
  place();
}
function center(node) {
  if (scale < .6) scale = 1;
  const box = node.getBBox();
  left = canvas.clientWidth / 2 - (box.x + box.width / 2) * scale;
  top_ = canvas.clientHeight / 2 - (box.y + box.height / 2) * scale;
  place();
}

canvas.addEventListener("wheel", e => {
  e.preventDefault();
  const box = canvas.getBoundingClientRect();
  const factor = Math.exp(-e.deltaY * (e.deltaMode ? .05 : .0015));
  zoom(factor, e.clientX - box.left, e.clientY - box.top);
}, { passive: false });
let moved = 0;
canvas.addEventListener("pointerdown", () => { moved = 0; });
canvas.addEventListener("pointermove", e => {
  if (!(e.buttons & 1)) return;
  moved += Math.abs(e.movementX) + Math.abs(e.movementY);
  left += e.movementX; top_ += e.movementY; canvas.classList.add("dragged"); place();
});
window.addEventListener("pointerup", () => canvas.classList.remove("dragged"));

function mark(elements, name) { for (const e of elements) e.classList.add(name); }
function unmark(...names) {
  for (const name of names)
    for (const e of world.querySelectorAll("." + name)) e.classList.remove(name);
}
const nodes = [...world.querySelectorAll(".node")], edges = [...world.querySelectorAll(".edge")];
const by_name = new Map(nodes.map(n => [n.dataset.name, n]));
canvas.addEventListener("click", e => {
  if (moved > 4) return;
  unmark("near", "self");
  const node = e.target.closest(".node");
  world.classList.toggle("chosen", !!node);
  if (!node) return;
  const name = node.dataset.name;
  const touching = edges.filter(x => x.dataset.from === name || x.dataset.to === name);
  const ends = touching.flatMap(x => [by_name.get(x.dataset.from), by_name.get(x.dataset.to)]);
  mark([node, ...touching, ...ends], "near");
  mark([node], "self");
});

let found = [], at = 0;
const search = document.getElementById("search"), count = document.getElementById("count");
function show(step) {
  if (!found.length) return;
  at = (at + step + found.length) % found.length;
  unmark("current"); mark([found[at]], "current"); center(found[at]);
  count.textContent = `${at + 1} of ${found.length}`;
}
search.addEventListener("input", () => {
  const text = search.value.toLowerCase();
  unmark("found", "current");
  found = text ? nodes.filter(n => n.textContent.toLowerCase().includes(text)) : []; at = 0;
  mark(found, "found");
  world.classList.toggle("searched", !!text);
  count.textContent = text ? "none" : "";
  show(0);
});
search.addEventListener("keydown", e => { if (e.key === "Enter") show(e.shiftKey ? -1 : 1); });
document.getElementById("larger").onclick = () => zoom(1.3);
document.getElementById("smaller").onclick = () => zoom(1 / 1.3);
document.getElementById("fit").onclick = fit;
document.getElementById("actual").onclick = actual;
actual();
</script>
</html>
"""
