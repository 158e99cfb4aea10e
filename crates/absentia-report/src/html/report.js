"use strict";
// Columns sort on a click; numbers by their value, words by the reader's alphabet.
for (const head of document.querySelectorAll("th")) {
  const rows = head.closest("table").tBodies[0];
  const sort = () => {
    const up = head.getAttribute("aria-sort") === "descending" ||
      (!head.hasAttribute("aria-sort") && !head.classList.contains("number"));
    const key = (row) => row.cells[head.cellIndex];
    const order = (a, b) => {
      const [x, y] = [key(a).dataset.value, key(b).dataset.value];
      if (x !== undefined && y !== undefined) return x - y;
      if (x !== undefined || y !== undefined) return x !== undefined ? 1 : -1;
      return key(a).textContent.localeCompare(key(b).textContent);
    };
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const sorted = [...rows.rows].sort(order);
    rows.append(...(up ? sorted : sorted.reverse()));
  };
  head.classList.add("sorts");
  head.tabIndex = 0;
  head.addEventListener("click", sort);
  head.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); }
  });
}
// The browser's own tooltips come late: their text moves into one that is there at once.
const tip = document.createElement("div");
tip.id = "tip";
tip.hidden = true;
document.body.append(tip);
for (const title of document.querySelectorAll(".mark > title")) {
  const mark = title.parentNode;
  mark.dataset.tip = title.textContent;
  title.remove();
}
document.addEventListener("pointermove", (event) => {
  const mark = event.target.closest?.("[data-tip]");
  tip.hidden = !mark;
  if (!mark) return;
  tip.textContent = mark.dataset.tip;
  const flip = event.clientX + 24 + tip.offsetWidth > innerWidth;
  tip.style.left = (flip ? event.clientX - 14 - tip.offsetWidth : event.clientX + 14) + "px";
  tip.style.top = Math.max(8, event.clientY - 14 - tip.offsetHeight) + "px";
});
document.documentElement.dataset.ready = "yes";
