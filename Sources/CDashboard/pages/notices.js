// The service's notifications are always shown, also while the page is open (tracker spec, section 5). The system shows
// them, too, if allowed, which requires a secure context.
import { request } from './api.js';
import { logDrink } from './drinks.js';
import { h, icon } from './dom.js';
import { acceptSession, live, on } from './live.js';
import { enqueue } from './queue.js';
import { said, t } from './texts.js';
import { complain } from './ui.js';

const actions = {
  'log-cup': () => logDrink(live.state?.cupMl ?? 250),
  snooze: () => request('POST', '/snooze', { minutes: 30 }),
  'not-today': () => request('POST', '/snooze', { until: 'tomorrow' }),
  'log-water': async () => acceptSession(await enqueue('POST', '/session/water', {})),
  'log-drink': async () => acceptSession(await enqueue('POST', '/session/drink', {})),
  'end-session': async () => acceptSession(await request('POST', '/session/end', { at: 'now' })),
  'keep-going': async () => acceptSession(await request('POST', '/session/keep-going')),
};

const isOver = (kind, state) => {
  if (kind === 'hydration-reminder') return state.isGoalAchieved || (state.displayUrgency === 0 && !state.isAlerting);
  if (kind === 'hydration-goal-reached') return !state.isGoalAchieved;
  if (kind === 'hydration-back-on-track') return state.displayUrgency > 0;
  const session = state.waterline;
  if (kind.startsWith('waterline') && !session) return true;
  if (kind === 'waterline-per-drink') return session.waterDueIn > 0;
  if (kind === 'waterline-warning') return !session.isWarning;
  return kind === 'waterline-abandoned' && session.abandonedHours === null;
};

const shown = new Map(); // kind: { banner, waters at that moment, the system's notification }; a newer one replaces the older

function remove(kind) {
  shown.get(kind)?.banner.remove();
  shown.get(kind)?.system?.close();
  shown.delete(kind);
}

export function notices() {
  const place = document.getElementById('notices');
  on('notify', (notice) => {
    const kind = notice.kind ?? notice.id;
    // The page shows a running session anyway; a banner would cover a watch face.
    if (kind === 'waterline-live') return;
    // Historical notifications are shown only if still true.
    if (notice.historical && live.state && isOver(kind, live.state)) return;
    // One banner per kind and per text: discreet kinds have the same text.
    for (const [other, { banner: old }] of [...shown]) {
      if (other === kind || old.dataset.words === `${notice.title}\n${notice.body}`) remove(other);
    }
    const close = () => remove(kind);
    const buttons = (notice.actions ?? []).map((each) => each?.id ?? each).filter((id) => actions[id])
      .map((id) => h('button', { type: 'button', class: 'plain', onclick: () => { close(); actions[id]().catch(complain); } }, t.actions[id]));
    const banner = h('div', { class: 'notice', role: 'alert', 'data-kind': kind, 'data-words': `${notice.title}\n${notice.body}` },
      icon('drop'), h('div', { class: 'notice-words' }, h('strong', {}, said(notice.title)), notice.body && h('p', {}, said(notice.body))),
      h('div', { class: 'notice-actions' }, buttons, h('button', { type: 'button', class: 'plain', onclick: close }, t.actions.dismiss)));
    shown.set(kind, { banner, waters: live.state?.waterline?.waters });
    place.append(banner);
    if (notice.haptic && !notice.historical && navigator.vibrate && navigator.userActivation?.hasBeenActive) navigator.vibrate([80, 60, 80]);
    if (globalThis.Notification?.permission === 'granted') {
      try { shown.get(kind).system = new Notification(said(notice.title), { body: said(notice.body), tag: kind, silent: notice.sound === false }); } catch { /* Phones show them from a worker only. */ }
    }
  });
  // Remove outdated banners: reminders while on track, and those of an ended session.
  on('state', (state) => {
    for (const [kind, { waters }] of [...shown]) {
      if (isOver(kind, state) || (kind === 'waterline-time' && state.waterline.waters > waters)) remove(kind);
    }
  });
}
