// The first visit: welcome, guardrail, defaults, notifications. Once.
import { get, request } from './api.js';
import { h, icon, setText, show } from './dom.js';
import { goals } from './format.js';
import { ask, live } from './live.js';
import { said, t } from './texts.js';
import { card, field, option } from './ui.js';

export function welcome(root, { go }) {
  const number = (value, min, max) => h('input', { type: 'number', inputmode: 'numeric', min, max, value });
  const goal = number(goals.usual, goals.least, goals.most);
  const every = number(1, 1, 10);
  const threshold = number(2, 1, 10);
  const reminders = h('input', { type: 'checkbox', role: 'switch' });
  reminders.checked = true;
  const interval = h('select', {}, [10, 15, 20, 30, 45, 60].map((each) => option(String(each), t.everyMinutes(each), each === 20)));
  const units = h('select', {}, ['oz', 'ml'].map((each) => option(each, each)));
  const error = h('p', { class: 'error', role: 'alert', hidden: true });
  const isWaterlineShown = live.state?.service?.waterlineShown !== false;

  async function finish(notifications) {
    show(error, false);
    try {
      // Requested in the tap handler, as browsers require. A denial is accepted.
      if (notifications === 'enable' && 'Notification' in globalThis && isSecureContext) await Notification.requestPermission().catch(() => {});
      // If Waterline is hidden, its settings are neither shown nor changed.
      const waterline = live.state?.service?.waterlineShown === false ? {} : {
        waterEvery: Number(every.value), timeReminders: reminders.checked ? 'on' : 'off', interval: Number(interval.value), threshold: Number(threshold.value),
        units: units.value,
      };
      await request('POST', '/setup', { ...waterline, goal: Number(goal.value), notifications });
      await ask();
      go('/');
    } catch (problem) {
      setText(error, said(problem.message));
      show(error, true);
    }
  }

  // Shows earlier choices, but keeps fields that the user has edited in the meantime.
  const touched = new Set();
  root.addEventListener('input', (event) => touched.add(event.target));
  get('/settings').then((values) => {
    const begin = (input, name) => { if (!touched.has(input) && values[name] !== undefined) input.value = String(values[name]); };
    begin(goal, 'hydration.goalMl');
    begin(every, 'waterline.waterEveryNDrinks');
    begin(threshold, 'waterline.warningThreshold');
    begin(interval, 'waterline.intervalMinutes');
    begin(units, 'waterline.units');
    if (!touched.has(reminders) && values['waterline.timeReminders'] !== undefined) reminders.checked = values['waterline.timeReminders'];
  }).catch(() => {});

  const waterlineParts = [
    card(t.waterlineDefaults, {}, h('p', {}, t.welcome), h('p', { class: 'guardrail' }, t.guardrail),
      h('div', { class: 'goal-fields' }, field(t.settings['waterline.waterEveryNDrinks'][0], every, { hint: t.settings['waterline.waterEveryNDrinks'][1] }),
        field(t.settings['waterline.warningThreshold'][0], threshold, { hint: t.settings['waterline.warningThreshold'][1] }),
        field(t.settings['waterline.intervalMinutes'][0], interval), field(t.settings['waterline.units'][0], units),
        field(t.settings['waterline.timeReminders'][0], reminders, { className: 'field flag' }))),
  ];

  root.append(
    h('div', { class: 'welcome-head' }, icon('drop', 'welcome-drop'), h('h2', { tabindex: '-1' }, t.welcomeTitle), h('p', {}, t.welcomeWords)),
    card(t.yourDay, {}, field(t.goalMl, goal, { hint: t.goalHint })),
    ...(isWaterlineShown ? waterlineParts : [h('p', { class: 'guardrail' }, t.waterlineNotShared)]),
    card(t.notificationsTitle, {}, h('p', {}, t.notificationsWords), h('p', { class: 'welcome-end' }, t.welcomeEnd), error,
      h('div', { class: 'actions' },
        h('button', { type: 'button', class: 'quiet', onclick: () => finish('skip') }, t.skipNotifications),
        h('button', { type: 'button', class: 'primary', onclick: () => finish('enable') }, t.enable))));
}
