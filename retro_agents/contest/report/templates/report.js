"use strict";
// Two agents level by level: the numbers are in #scores, the choice in two selects.
const scores = JSON.parse(document.getElementById("scores").textContent);
const [first, second] = ["first", "second"].map((id) => document.getElementById(id));
const rounding = { maximumFractionDigits: 0, roundingMode: "halfEven" }; // as Python's
const whole = new Intl.NumberFormat("en", { ...rounding, signDisplay: "negative" });
const signed = new Intl.NumberFormat("en", { ...rounding, signDisplay: "exceptZero" });

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
    `${one.label} is better on ${won} of ${rows.length} levels, ${two.label} on ${lost}.` +
    (one.steps === two.steps ? "" : " They had different numbers of steps.") +
    (one.whole && two.whole ? "" : " One is incomplete, so this says little.");
  document.getElementById("head-first").textContent = one.label;
  document.getElementById("head-second").textContent = two.label;
}

for (const select of [first, second]) select.addEventListener("change", show);
show();

// A chart says its values where one points.
for (const card of document.querySelectorAll("[data-hover]")) {
  const { left, right, texts } = JSON.parse(card.dataset.hover);
  const chart = card.querySelector("svg"), said = card.querySelector("output");
  chart.addEventListener("pointermove", (event) => {
    const box = chart.getBoundingClientRect();
    const part = ((event.clientX - box.left) / box.width - left) / (right - left);
    const place = Math.round(Math.min(1, Math.max(0, part)) * (texts.length - 1));
    said.textContent = texts[place];
  });
}

// Two films of a level, in step: the slower one sets the pace.
const films = [...document.querySelectorAll(".films figure")];
const chosen = ["film-level", "left", "right"].map((id) => document.getElementById(id));

function picked() {
  const [level, ...sides] = chosen.map((select) => select.value);
  return [...new Set(sides)].flatMap((agent) =>
    films.filter((one) => one.dataset.level === level && one.dataset.agent === agent));
}

function pick() {
  const shown = picked();
  for (const one of films) {
    one.hidden = !shown.includes(one);
    one.querySelector("video").pause();
    one.querySelector("video").ontimeupdate = null;
  }
  shown[0]?.parentElement.append(...shown); // left before right
}

// Enough of both is there before one of them starts.
function loaded(video) {
  if (video.readyState === HTMLMediaElement.HAVE_ENOUGH_DATA) return null;
  video.preload = "auto";
  return new Promise((done) => {
    for (const event of ["canplaythrough", "error"]) video.addEventListener(event, done, { once: true });
  });
}

// A film that fell behind, or ran ahead, goes where the other is.
function follow(video, leader) {
  const due = (leader.currentTime / leader.playbackRate) * video.playbackRate;
  const runs = !video.paused && !video.seeking && due < video.duration;
  if (runs && Math.abs(video.currentTime - due) > 0.2) video.currentTime = due;
}

if (films.length) {
  for (const select of chosen) select.addEventListener("change", pick);
  document.getElementById("play").addEventListener("click", async () => {
    const shown = picked().map((one) => [one.querySelector("video"), one.dataset.speed]);
    const slowest = Math.min(...shown.map(([, speed]) => speed));
    for (const [video, speed] of shown) {
      video.pause();
      video.playbackRate = slowest / speed;
      if (video.currentTime > 0) video.currentTime = 0;
    }
    await Promise.all(shown.map(([video]) => loaded(video)));
    for (const [video] of shown) video.play();
    const [[leader], ...others] = shown;
    leader.ontimeupdate = () => {
      for (const [video] of others) follow(video, leader);
    };
  });
  pick();
}
