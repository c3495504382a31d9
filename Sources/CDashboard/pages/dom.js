// Creates the page's elements. Text is always inserted as text, never as markup, because names are untrusted.

const SVG = 'http://www.w3.org/2000/svg';

function make(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'vars') setVariables(element, value);
    else if (name === 'value' && 'value' in element && element.namespaceURI !== SVG) element.value = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false).flatMap(drawn));
  return element;
}

export const h = (tag, attributes, ...children) => make(document.createElement(tag), attributes, children);

export const svg = (tag, attributes, ...children) => make(document.createElementNS(SVG, tag), attributes, children);

/** Sets CSS variables through the CSSOM: the content security policy allows no style attributes. */
export function setVariables(element, variables) {
  for (const [name, value] of Object.entries(variables)) element.style.setProperty(name, value);
}

/** Writes a text only if it differs, so that screen readers do not repeat it. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export const show = (element, isShown) => { element.hidden = !isShown; };

/** Rows that keep their elements and the focus while the list changes. `make(item)` creates a row once; `update(row,
 *  item)` is called each time. */
export function keyedRows(container, keyOf, make, update = () => {}) {
  let rows = new Map();
  return (items) => {
    const next = new Map();
    const hadFocus = container.contains(document.activeElement) ? document.activeElement : null;
    const oldOrder = [...rows.values()];
    let previous = null;
    for (const item of items) {
      const key = keyOf(item);
      const row = rows.get(key) ?? make(item);
      update(row, item);
      next.set(key, row);
      // Moving an element removes its focus, so only misplaced elements are moved.
      const wanted = previous ? previous.nextSibling : container.firstChild;
      if (row !== wanted) container.insertBefore(row, wanted);
      previous = row;
    }
    for (const [key, row] of rows) if (!next.has(key)) row.remove();
    if (hadFocus && !document.contains(hadFocus)) {
      // If the focused row was removed, its neighbour gets the focus, not the top of the page.
      const index = oldOrder.findIndex((row) => row.contains(hadFocus));
      const neighbour = container.children[Math.min(Math.max(index, 0), container.children.length - 1)];
      (neighbour?.querySelector('button, a, input') ?? container.closest('section, details')?.querySelector('h2'))?.focus();
    }
    rows = next;
  };
}

const icons = {
  drop: 'M12 2.5C8.6 7 5.5 10.6 5.5 14.5a6.5 6.5 0 0 0 13 0C18.5 10.6 15.4 7 12 2.5z',
  today: 'M12 2.5C8.6 7 5.5 10.6 5.5 14.5a6.5 6.5 0 0 0 13 0C18.5 10.6 15.4 7 12 2.5z',
  history: 'M4 20V11h4v9zm6 0V4h4v16zm6 0v-6h4v6z',
  waterline: 'M3 8.5c2 0 2.5-2 4.5-2s2.5 2 4.5 2 2.5-2 4.5-2 2.5 2 4.5 2v2c-2 0-2.5-2-4.5-2s-2.5 2-4.5 2-2.5-2-4.5-2-2.5 2-4.5 2zm0 7c2 0 2.5-2 4.5-2s2.5 2 4.5 2 2.5-2 4.5-2 2.5 2 4.5 2v2c-2 0-2.5-2-4.5-2s-2.5 2-4.5 2-2.5-2-4.5-2-2.5 2-4.5 2z',
  settings: 'M4 6h9.200a3 3 0 0 1 5.6 0H20v2h-1.200a3 3 0 0 1-5.6 0H4zm0 10h1.200a3 3 0 0 1 5.6 0H20v2h-9.200a3 3 0 0 1-5.6 0H4z',
  bottle: 'M9.5 2h5v3l1.8 2.400c.5.6.7 1.3.7 2V20a2 2 0 0 1-2 2H9a2 2 0 0 1-2-2V9.400c0-.7.2-1.4.7-2L9.5 5zM9 12v6h6v-6z',
  flame: 'M12.5 2c.5 3.5-3.5 5-3.5 9 0 1 .3 1.8.8 2.400C8.4 13 7.6 11.8 7.5 10 6 11.5 5 13.3 5 15.500a7 7 0 0 0 14 0c0-5-4-7-6.5-13.500z',
  undo: 'M8 5v4.200h5.500a4.750 4.750 0 0 1 0 9.500H8v-2.200h5.300a2.6 2.6 0 0 0 0-5.200H8v4.200L2.5 10.200z',
  edit: 'M4 20v-4L15.5 4.500l4 4L8 20zm2-2.2 1 .2 8.7-8.7-1.2-1.200L5.8 16.800z',
  bin: 'M9 3h6l1 2h4v2H4V5h4zM6 9h12l-1 12H7zm3 2v8h1.700v-8zm4.3 0v8H15v-8z',
  previous: 'M15.5 4 7.5 12l8 8 1.8-1.800L11 12l6.3-6.200z',
  next: 'M8.5 4 6.7 5.8 13 12l-6.3 6.200L8.5 20l8-8z',
  glass: 'M5 3h14l-1.7 18H6.700zm2.2 2 .5 5c1.5-.8 2.8-.8 4.3 0s2.8.8 4.2.1l.5-5.100z',
  cup: 'M5 3h14l-1.7 18H6.700zm2.2 2 .5 5c1.5-.8 2.8-.8 4.3 0s2.8.8 4.2.1l.5-5.100z',
  figure: 'M12 2a2.8 2.8 0 1 1 0 5.600A2.8 2.8 0 0 1 12 2zM9 8.500h6a2.5 2.5 0 0 1 2.5 2.500v5h-2v6h-7v-6h-2v-5A2.5 2.5 0 0 1 9 8.500z',
  check: 'M9.5 18.5 3.5 12.500l1.8-1.8 4.2 4.2 9.2-9.2 1.8 1.800z',
  goal: 'M6 3h13l-3 4.500 3 4.500H8v9H6z',
  bell: 'M12 2.500a6 6 0 0 1 6 6v4.500l2 3.500H4L6 13V8.500a6 6 0 0 1 6-6zM9.500 18.500h5a2.500 2.500 0 0 1-5 0z',
  cloud: 'M7 19a5 5 0 0 1-.6-9.960 6.500 6.500 0 0 1 12.300 1.700A4.200 4.200 0 0 1 18 19z',
  hidden: 'M12 6c5 0 8.5 4 9.5 6-1 2-4.5 6-9.5 6s-8.5-4-9.5-6C3.5 10 7 6 12 6zm0 2.500a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7z',
};

/** Emoji in the service's sentences that a font might lack, and the icon for each. */
const DRAWN = { '🎉': 'goal', '💧': 'drop', '✓': 'check' };

function drawn(text) {
  if (typeof text !== 'string') return [text];
  return text.split(/ ?(🎉|💧|✓)/u).filter(Boolean).map((part) => (DRAWN[part] ? icon(DRAWN[part], 'icon mark') : part));
}

/** Writes a sentence only if it differs, with its emoji as icons. */
export function setDrawn(element, text) {
  if (element.drawn === text) return;
  element.drawn = text;
  element.replaceChildren(...drawn(text));
}

/** A decorative icon, hidden from screen readers. */
export const icon = (name, className = 'icon') =>
  svg('svg', { class: className, viewBox: '0 0 24 24', 'aria-hidden': 'true', focusable: 'false' },
    svg('path', { d: icons[name], 'fill-rule': 'evenodd' }));
