// Rejected writes with the reason, until the user resends or discards them.
import { h, show } from './dom.js';
import { ml, moment } from './format.js';
import { discard, sendAgain, watchQueue } from './queue.js';
import { said, t } from './texts.js';

const words = { '/session/drink': () => t.aDrink, '/session/water': () => t.aWater, '/session': () => t.startSession, '/session/end': () => t.endSession };
const what = ({ path, body }) => (path === '/drinks' ? ml(body.ml) : words[path]?.() ?? path);

export function refusals() {
  const place = h('section', { class: 'refusals', 'aria-label': t.refusedTitle, hidden: true });
  let shown = '';
  watchQueue((_, refused) => {
    const keys = refused.map((each) => each.key).join();
    if (keys === shown) return;
    shown = keys;
    place.replaceChildren(...refused.map((each) => h('div', { class: 'notice' },
      h('div', { class: 'notice-words' }, h('strong', {}, `${t.refusedTitle}: ${what(each)}, ${moment(each.made / 1000)}`), h('p', {}, said(each.reason))),
      h('div', { class: 'notice-actions' },
        h('button', { type: 'button', class: 'plain', onclick: () => sendAgain(each.key) }, t.again),
        h('button', { type: 'button', class: 'plain', onclick: () => discard(each.key) }, t.discard)))));
    show(place, refused.length > 0);
  });
  return place;
}
