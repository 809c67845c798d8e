/** The studio: tabs, of which the address says which one is seen. */

import { h } from "../views/dom";
import { Live } from "./live";
import { Runs } from "./runs";
import type { View } from "./view";
import { Watch } from "./watch";

const TABS = { runs: "Runs", watch: "Watch", race: "Race", play: "Play", live: "Live" };
const page = document.getElementById("page")!;
const games = new Watch();
const views: Record<string, View> = {
  runs: new Runs(),
  live: new Live(),
  watch: games,
  race: games,
  play: games,
  learn: games,
};
const tabs = h("nav", { "aria-label": "Views" });
const header = h("header", {}, h("h1", {}, h("a", { href: "#/runs" }, "Studio")), tabs);
let shown: View | null = null;

function follow(): void {
  const [, name = "", query = ""] = /^#\/(\w+)\??(.*)$/.exec(location.hash) ?? [];
  const found = Object.hasOwn(views, name) ? name : "runs";
  const view = views[found];
  if (shown !== view) {
    shown?.hide();
    page.replaceChildren(header, view.root);
  }
  shown = view;
  tabs.replaceChildren(
    ...Object.entries(TABS).map(([id, title]) =>
      h("a", { href: `#/${id}`, "aria-current": id === found && "page" }, title),
    ),
  );
  document.title = `${TABS[found as keyof typeof TABS] ?? "Learn"} · Studio`;
  view.show(new URLSearchParams(query));
}

addEventListener("hashchange", follow);
follow();
