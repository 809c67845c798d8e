/** The studio: tabs, of which the address says which one is seen. */

import { freeKeys, h } from "../views/dom";
import { Compare } from "./compare";
import { Contests } from "./contests";
import { Episodes } from "./episodes";
import { Live } from "./live";
import { Runs } from "./runs";
import { Sweeps } from "./sweeps";
import type { View } from "./view";
import { Watch } from "./watch";

const TABS = {
  runs: "Runs",
  watch: "Watch",
  race: "Race",
  play: "Play",
  learn: "Learn",
  live: "Live",
  episodes: "Episodes",
  compare: "Compare",
  contests: "Contests",
  sweeps: "Sweeps",
};
const page = document.getElementById("page")!;
const games = new Watch();
const views: Record<string, View> = {
  runs: new Runs(),
  live: new Live(),
  episodes: new Episodes(),
  compare: new Compare(),
  contests: new Contests(),
  sweeps: new Sweeps(),
  watch: games,
  race: games,
  play: games,
  learn: games,
};
const links = Object.entries(TABS).map(([id, title]) => h("a", { href: `#/${id}` }, title));
const tabs = h("nav", { "aria-label": "Views" }, ...links);
const header = h("header", {}, h("h1", {}, h("a", { href: "#/runs" }, "Studio")), tabs);
freeKeys(header);
page.append(header);
let shown: View | null = null;
let title = "";

/** The public page within the studio gives acts' names to the window. */
function entitle(): void {
  if (document.title !== title) document.title = title;
}

function follow(): void {
  const [, name = "", query = ""] = /^#\/(\w+)\??(.*)$/.exec(location.hash) ?? [];
  const found = Object.hasOwn(views, name) ? name : "runs";
  const view = views[found];
  if (shown !== view) {
    shown?.hide();
    shown?.root.remove();
    page.append(view.root);
  }
  shown = view;
  const current = links.find(({ hash }) => hash === `#/${found}`);
  for (const link of links) link.ariaCurrent = link === current ? "page" : null;
  title = `${TABS[found as keyof typeof TABS]} · Studio`;
  entitle();
  view.show(new URLSearchParams(query));
}

addEventListener("hashchange", follow);
follow();
new MutationObserver(entitle).observe(document.querySelector("title")!, { childList: true });
