import { App } from "./app";
import { World } from "./game/world";
import { h } from "./views/dom";

const page = document.getElementById("page")!;
try {
  const app = new App(await World.fetch());
  page.replaceChildren(...app.roots);
  app.begin();
} catch (error) {
  page.replaceChildren(
    h("main", {}, h("p", { class: "notice", role: "alert" }, (error as Error).message)),
  );
}
