// The lines above the page: age of the data, pending writes, sync server, notifications and their unread number.
import { request } from './api.js';
import { h, icon, setText, show } from './dom.js';
import { clock } from './format.js';
import { mount } from './home.js';
import { ask, live, on, openNotices } from './live.js';
import { areDisabled } from './notification-test.js';
import { watchQueue } from './queue.js';
import { said, t } from './texts.js';
import { act } from './ui.js';

export function status() {
  const staleness = document.getElementById('staleness');
  const sync = h('span', { role: 'status' });
  const retry = h('button', { type: 'button', class: 'plain', onclick: act(async () => {
    setText(sync, t.syncing);
    await request('POST', '/sync', {});
    await ask();
  }) }, t.again);
  const syncLine = h('p', {}, icon('cloud'), sync, retry);
  const disabled = h('p', {}, icon('bell'), h('a', { class: 'link', href: `${mount}/settings#reminders` }, t.notificationsDisabled));
  const count = h('span', { 'aria-hidden': 'true' });
  const unread = h('button', { type: 'button', class: 'unread', onclick: () => openNotices() }, count);
  const lines = document.getElementById('status');
  lines.setAttribute('aria-label', t.serviceState);
  lines.append(syncLine, disabled);
  document.getElementById('title').after(unread);
  let waiting = 0;

  function update() {
    const isAway = live.isUp === false;
    const words = [
      isAway && (live.told ? t.stale(clock(live.told / 1000)) : t.away),
      waiting > 0 && (isAway || waiting > 1) && t.waiting(waiting),
    ].filter(Boolean).join(' ');
    setText(staleness, words);
    show(staleness, Boolean(words));
    const state = live.state;
    const report = state?.syncReport;
    const isTold = Boolean(report && (report.waiting > 0 || report.trouble));
    show(syncLine, isTold);
    show(retry, Boolean(report?.trouble));
    if (isTold) setText(sync, [report.trouble && said(report.trouble), report.waiting > 0 && t.syncWaiting(report.waiting)].filter(Boolean).join(' '));
    show(disabled, Boolean(state?.service?.setupDone) && areDisabled());
    show(unread, state?.unread > 0);
    setText(count, String(state?.unread ?? 0));
    unread.setAttribute('aria-label', t.unread(state?.unread ?? 0));
    if (navigator.setAppBadge) (state?.unread > 0 ? navigator.setAppBadge(state.unread) : navigator.clearAppBadge()).catch(() => {});
  }
  on('link', update);
  on('state', update);
  watchQueue((count) => { waiting = count; update(); });
}
