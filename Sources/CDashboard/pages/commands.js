import { request } from './api.js';
import { h, setText, show } from './dom.js';
import { fieldMl, goals, inUnits } from './format.js';
import { ask, live } from './live.js';
import { said, t } from './texts.js';
import { card, confirmThen, option } from './ui.js';

const COLOURED = ['blue', 'breathe', 'calm'];
const LIGHTS = ['blue', 'breathe', 'calm', 'rainbow', 'warmth', 'christmas'];

export function commands() {
  const numberField = (value, min, max) => h('input', { type: 'number', inputmode: 'numeric', min, max, value });
  // The service parses units as the command line does. An unchanged value is sent in millilitres.
  const amountField = (value, min, max) => {
    const stood = fieldMl(value);
    const input = stood === String(value) ? numberField(value, min, max) : h('input', { type: 'text', inputmode: 'decimal', autocomplete: 'off', value: stood });
    return { input, read: () => (input.value === stood ? value : input.value) };
  };
  const goal = amountField(live.state?.dailyGoalMl ?? goals.usual, goals.least, goals.most);
  const amount = amountField(live.state?.dailyTotalMl ?? 0, 0, 10000);
  const light = h('select', {}, LIGHTS.map((each) => option(each, t.lights[each])));
  const colour = h('input', { type: 'color', value: '#1e88e5' });
  const mode = h('select', {}, ['off', 'periodic', 'smart'].map((each) => option(each, t.reminderModes[each])));
  const from = h('input', { type: 'time', value: live.state?.state?.wake ?? '08:00' });
  const to = h('input', { type: 'time', value: live.state?.state?.sleep ?? '20:00' });
  const every = numberField(60, 1, 240);
  const full = h('select', {}, ['full', 'empty'].map((each) => option(each, t.fills[each])));
  const inner = (label, control) => { control.setAttribute('aria-label', label); return control; };

  const row = (command, controls, read, { question } = {}) => {
    const answer = h('p', { class: 'answer', role: 'status' });
    const run = async () => {
      button.disabled = true;
      answer.classList.remove('refused');
      setText(answer, t.asking);
      try {
        const reply = await request('POST', '/bottle/commands', { command, arguments: read().map(String) });
        setText(answer, said(reply.answer) || t.commandDone);
        ask();
      } catch (problem) {
        answer.classList.add('refused');
        setText(answer, said(problem.message));
      } finally {
        button.disabled = false;
      }
    };
    const button = h('button', { type: 'submit', class: 'quiet' }, t.commands[command].button);
    return h('form', { class: controls.length ? 'command' : 'command bare', 'data-command': command, novalidate: true, onsubmit: (event) => {
      event.preventDefault();
      if (question) confirmThen(t.commands[command].name, question, t.commands[command].button, async () => { run(); });
      else run();
    } }, h('div', { class: 'command-words' }, h('strong', {}, t.commands[command].name), h('small', {}, t.commands[command].words)),
    h('div', { class: 'command-controls' }, controls, button), answer);
  };

  const reminderFields = [inner(t.from, from), inner(t.to, to), inner(t.minutes, every)];
  mode.addEventListener('change', () => { for (const each of reminderFields) show(each, mode.value !== 'off'); });
  for (const each of reminderFields) show(each, false);
  light.addEventListener('change', () => show(colour, COLOURED.includes(light.value)));

  return card(t.askBottle, { class: 'commands-card' },
    row('goal', [inner(inUnits(t.goalMl), goal.input)], () => [goal.read()]),
    row('clock', [], () => []),
    row('reminder', [inner(t.mode, mode), reminderFields], () => (mode.value === 'off' ? ['off'] : [mode.value, `${from.value}-${to.value}`, ...(every.value ? [every.value] : [])])),
    row('light', [inner(t.light, light), inner(t.colour, colour)], () => (COLOURED.includes(light.value) ? [light.value, colour.value.slice(1).toUpperCase()] : [light.value])),
    row('amount', [inner(inUnits(t.amountLabel), amount.input)], () => [amount.read()]),
    row('flash', [], () => []),
    row('recalibrate', [inner(t.fill, full)], () => [full.value], { question: t.recalibrateQuestion }));
}
