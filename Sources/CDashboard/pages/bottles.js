// Bottles in range that are not adopted: read, adopt, or hide. Shown to administrators only.
import { request, scopeHere } from './api.js';
import { h, icon, setText, show } from './dom.js';
import { ml } from './format.js';
import { ask } from './live.js';
import { said, t } from './texts.js';
import { act, card, dialog, field, option, toast } from './ui.js';

export function bottlesInRange() {
  const list = h('ul', { class: 'plain-list' });
  const empty = h('p', { class: 'empty' }, t.noBottlesInRange);
  const scan = h('button', { type: 'button', class: 'quiet', onclick: act(async () => {
    setText(empty, t.scanning);
    try { update((await request('POST', '/bottles-in-range/scan', {}, { patience: 90_000 })).bottles); } finally { setText(empty, t.noBottlesInRange); }
  }) }, t.scan);
  const node = card(t.bottlesInRange, { class: 'range-card', hidden: true, head: scan }, list, empty);
  let known;
  let isAdmin = false;
  scopeHere().then((scope) => { isAdmin = scope === 'admin'; show(node, isAdmin && Boolean(known)); }).catch(() => {});

  /** `bottles`: {address, name, rssi}, in the service's order; `undefined` if there is no scan. */
  function update(bottles) {
    show(node, isAdmin && Boolean(bottles));
    if (!bottles || JSON.stringify(bottles) === JSON.stringify(known)) return;
    known = bottles;
    show(empty, bottles.length === 0);
    list.replaceChildren(...bottles.map(row));
  }

  function row({ address, name, rssi }) {
    const path = `/bottles-in-range/${encodeURIComponent(address)}`;
    const inside = h('span', { class: 'from', role: 'status' }, address, rssi ? ` · ${t.signal(rssi)}` : '');
    const button = (words, work, kind = 'quiet') => h('button', { type: 'button', class: kind, onclick: act(work), 'aria-label': `${words}: ${name ?? address}` }, words);
    const item = h('li', {}, icon('bottle'), h('span', { class: 'row-text' }, h('strong', {}, name ?? address), inside), h('span', { class: 'setting-links' },
      button(t.addBottle, () => add(path, name ?? address), 'primary'),
      button(t.lookInside, async () => {
        setText(inside, t.asking);
        try {
          const { records, newest } = await request('POST', `${path}/look`, {}, { patience: 60_000 });
          setText(inside, newest ? t.inside(records, ml(newest.ml), newest.wall?.replace('T', ' ') ?? t.unknown) : t.insideEmpty);
        } catch (problem) { setText(inside, said(problem.message)); }
      }),
      button(t.notMine, async () => { await request('POST', `${path}/hide`, {}); item.remove(); })));
    return item;
  }

  function add(path, name) {
    const mode = h('select', {}, ['take-over', 'share'].map((each) => option(each, t.choices[each])));
    dialog(t.addTitle(name), [h('p', {}, t.takeOverWords), h('p', {}, t.shareWords), field(t.settings['bottle.mode'][0], mode)], {
      save: t.addBottle, onsave: async () => {
        await request('POST', `${path}/adopt`, { mode: mode.value });
        toast(t.added(name));
        ask();
      },
    });
  }

  return { node, update };
}
