"use strict";
// Two agents level by level: the numbers are in #scores, the choice in two selects.
const scores = JSON.parse(document.getElementById("scores").textContent);
const [first, second] = ["first", "second"].map((id) => document.getElementById(id));
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const signed = new Intl.NumberFormat("en", { maximumFractionDigits: 0, signDisplay: "exceptZero" });

function cell(kind, text, name) {
  const made = document.createElement(kind);
  made.textContent = text;
  if (name) made.className = name;
  return made;
}

function duel(difference, largest, winner) {
  const track = cell("div", "", "duel"), bar = cell("i", "", "c" + (winner % 8));
  const width = (50 * Math.abs(difference)) / largest;
  bar.style.width = width + "%";
  bar.style.left = (difference < 0 ? 50 : 50 - width) + "%";
  track.setAttribute("aria-hidden", "true");
  track.append(bar);
  return track;
}

function show() {
  const [one, two] = [scores[first.value], scores[second.value]];
  const levels = Object.keys(one.levels).filter((level) => level in two.levels).sort();
  const rows = levels.map((level) => [level, one.levels[level], two.levels[level]]);
  const largest = Math.max(1, ...rows.map(([, a, b]) => Math.abs(a - b)));
  const body = document.querySelector("#duels tbody");
  body.replaceChildren(
    ...rows.map(([level, a, b]) => {
      const row = document.createElement("tr"), head = cell("th", level);
      head.scope = "row";
      head.append(duel(a - b, largest, a > b ? one.number : two.number));
      row.append(head, cell("td", whole.format(a)), cell("td", whole.format(b)));
      row.append(cell("td", signed.format(a - b)));
      return row;
    }),
  );
  const won = rows.filter(([, a, b]) => a > b).length, lost = rows.filter(([, a, b]) => a < b).length;
  document.getElementById("verdict").textContent =
    `${one.label} is better on ${won} of ${rows.length} levels, ${two.label} on ${lost}.`;
  document.getElementById("head-first").textContent = one.label;
  document.getElementById("head-second").textContent = two.label;
}

for (const select of [first, second]) select.addEventListener("change", show);
show();
