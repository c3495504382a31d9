// Polls that went wrong and are kept: why, what happened, and what passed as a file, for who looks after the bottle.
import { BASE, get, scopeHere } from './api.js';
import { h, show } from './dom.js';
import { moment, number } from './format.js';
import { said, t } from './texts.js';
import { card } from './ui.js';

export function keptPolls() {
  const list = h('div', { class: 'why kept-polls' });
  const node = card(t.kept, { class: 'kept-card', hidden: true }, h('p', { class: 'note' }, t.keptWords), list);

  /** Only who may do everything sees them: others' card stays away. */
  async function load() {
    if (await scopeHere() !== 'admin') return show(node, false);
    const { kept } = await get('/polls/kept');
    // What stands open stays open when the same is listed anew.
    const open = new Set([...list.querySelectorAll('details[open]')].map((each) => each.dataset.poll));
    list.replaceChildren(...kept.map((each) => tell(each, open.has(each.id))));
    return show(node, kept.length > 0);
  }

  function tell(poll, isOpen) {
    // A sentence here is a line there.
    const reason = said(poll.reason.replace(/\.$/, ''));
    return h('details', { 'data-poll': poll.id, open: isOpen },
      h('summary', {}, h('span', { class: 'why-kind' }, reason),
        h('span', { class: 'why-fact' }, poll.at === null ? t.unknown : h('time', { datetime: new Date(poll.at * 1000).toISOString() }, moment(poll.at)))),
      h('ul', { class: 'conditions' }, poll.story.map((line) => h('li', {}, h('span', {}, said(line))))),
      h('p', {}, h('a', { class: 'button', href: `${BASE}/polls/kept/${encodeURIComponent(poll.id)}`, download: '' }, t.keptDownload(number(Math.ceil(poll.bytes / 1024))))));
  }

  return { node, load };
}
