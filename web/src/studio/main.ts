/** The studio: tabs, of which the address says which one is seen. */

import { h } from "../views/dom";
import { Runs } from "./runs";
import type { View } from "./view";

const page = document.getElementById("page")!;
const views: Record<string, View> = { runs: new Runs() };
const tabs = h("nav", { "aria-label": "Views" });
const header = h("header", {}, h("h1", {}, h("a", { href: "#/runs" }, "Studio")), tabs);
let shown = "";

function follow(): void {
  const [, name = "", query = ""] = /^#\/(\w+)\??(.*)$/.exec(location.hash) ?? [];
  const found = name in views ? name : "runs";
  if (shown && shown !== found) views[shown].hide();
  if (shown !== found) page.replaceChildren(header, views[found].root);
  shown = found;
  tabs.replaceChildren(
    ...Object.entries(views).map(([id, view]) =>
      h("a", { href: `#/${id}`, "aria-current": id === found && "page" }, view.title),
    ),
  );
  document.title = `${views[found].title} · Studio`;
  views[found].show(new URLSearchParams(query));
}

addEventListener("hashchange", follow);
follow();
