/** Making elements. */

type Child = Node | string | null | false;
type Props = Record<string, unknown>;

export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, String(value));
  }
  element.append(
    ...children.filter((child): child is Node | string => child !== null && child !== false),
  );
  return element;
}

export function context(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  return canvas.getContext("2d", { willReadFrequently: false })!;
}

/** A number with separators and no decimals. */
export const points = (value: number) => Math.round(value).toLocaleString("en");

/** Frames as minutes and seconds. */
export function clock(frames: number): string {
  const tenths = Math.round(frames / 6);
  return `${Math.floor(tenths / 600)}:${((tenths % 600) / 10).toFixed(1).padStart(4, "0")}`;
}

/** Show a sentence, or none. A screen reader says it once, however often it is shown. */
export function announce(notice: HTMLElement, text: string): void {
  notice.hidden = !text;
  if (notice.textContent !== text) notice.textContent = text;
}

export function button(
  text: string,
  click: (event: Event) => void,
  props: Props = {},
): HTMLButtonElement {
  return h("button", { type: "button", onclick: click, ...props }, text);
}

export function choice(
  label: string,
  options: [id: string, text: string, isLacking?: boolean][],
  value: string,
  change: (value: string) => void,
): HTMLLabelElement {
  const select = h(
    "select",
    {
      "data-key": label,
      onchange: (event: Event) => change((event.target as HTMLSelectElement).value),
    },
    ...options.map(([id, text, disabled]) =>
      h("option", { value: id, selected: id === value, disabled }, text),
    ),
  );
  return h("label", { class: "field" }, h("span", {}, label), select);
}

export function toggle(
  label: string,
  on: boolean,
  change: (on: boolean) => void,
): HTMLLabelElement {
  const box = h("input", {
    type: "checkbox",
    "data-key": label,
    checked: on,
    onchange: (event: Event) => change((event.target as HTMLInputElement).checked),
  });
  return h("label", { class: "switch" }, box, h("span", {}, label));
}

/** Whether a key is for the browser or for what has the focus, and not for a game. */
export function isForControl(event: KeyboardEvent): boolean {
  const on = (what: string) => Boolean(document.activeElement?.closest(what));
  return (
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    on("input, select, textarea, summary, [contenteditable], .track") ||
    (event.code === "Space" && on("a, button"))
  );
}

/** Whether fingers are what points here. */
export const isTouched = () => matchMedia("(pointer: coarse)").matches;

/** Whether a list is open, whose keys are its own, in browsers that send them to the page too. */
const isOpen = (list: HTMLSelectElement) =>
  CSS.supports("selector(:open)") && list.matches(":open");

/** Take the focus from a control that was used with a pointer, or is done, so that keys are for the
 * game: Enter leaves a number, Escape a list. */
export function freeKeys(root: HTMLElement): void {
  let isPointed = false;
  const free = () => (document.activeElement as HTMLElement | null)?.blur();
  root.addEventListener("pointerdown", () => (isPointed = true));
  root.addEventListener("keydown", ({ target, key }) => {
    const isList = target instanceof HTMLSelectElement;
    if (isList && isOpen(target)) return;
    const isNumber = target instanceof HTMLInputElement && target.type === "number";
    if (isList ? isPointed || key === "Escape" : isNumber && key === "Enter") free();
    isPointed = isList && key === " "; // opens it, and so what is chosen there ends its use
  });
  root.addEventListener("change", ({ target }) => {
    if (isPointed && target === document.activeElement) free(); // no field that is being left
  });
  root.addEventListener("click", (event) => {
    // Those are in use until they change; Enter and Space click without a count.
    const stays = (event.target as HTMLElement).closest("input, select, textarea, label");
    if (event.detail && !stays) free();
  });
}

/** What this browser remembers; nothing where it may not. */
export const memory = {
  get<T>(name: string, otherwise: T): T {
    try {
      return JSON.parse(localStorage.getItem(`bramble.${name}`) ?? "") as T;
    } catch {
      return otherwise;
    }
  },
  set(name: string, value: unknown): void {
    try {
      localStorage.setItem(`bramble.${name}`, JSON.stringify(value));
    } catch {
      // A private window remembers nothing.
    }
  },
};
