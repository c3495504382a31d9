// Kept failed polls: the reason, the steps, and the capture as a file. For administrators.
import { BASE, get, scopeHere } from './api.js';
import { h, show } from './dom.js';
import { moment, number } from './format.js';
import { said, t } from './texts.js';
import { card } from './ui.js';

export function keptPolls() {
  const list = h('div', { class: 'kept-polls' });
  const node = card(t.kept, { class: 'kept-card', hidden: true }, h('p', { class: 'note' }, t.keptWords), list);

  async function load() {
    if (await scopeHere() !== 'admin') return show(node, false);
    const { kept } = await get('/polls/kept');
    const open = new Set([...list.querySelectorAll('details[open]')].map((each) => each.dataset.poll));
    list.replaceChildren(...kept.map((each) => entry(each, open.has(each.id))));
    return show(node, kept.length > 0);
  }

  function entry(poll, isOpen) {
    const reason = said(poll.reason.replace(/\.$/, ''));
    return h('details', { 'data-poll': poll.id, open: isOpen },
      h('summary', {}, h('span', {}, reason),
        poll.at === null ? t.unknown : h('time', { datetime: new Date(poll.at * 1000).toISOString() }, moment(poll.at))),
      h('ul', {}, poll.story.map((line) => h('li', {}, h('span', {}, said(line))))),
      h('p', {}, h('a', { class: 'button', href: `${BASE}/polls/kept/${encodeURIComponent(poll.id)}`, download: '' }, t.keptDownload(number(Math.ceil(poll.bytes / 1024))))));
  }

  return { node, load };
}
