// Logging in a session: a water or preset takes one tap, any other drink two.
import { undo, whenAway } from './drinks.js';
import { h } from './dom.js';
import { acceptSession, ask, live } from './live.js';
import { enqueue } from './queue.js';
import { volume } from './format.js';
import { t } from './texts.js';
import { complain, dialog, stepperField, toast } from './ui.js';

/** Sizes of the picker, ounces and standard drinks. */
const PICKER = {
  beer: [['oz12', 12, 1], ['oz16', 16, 1.333], ['pint', 19.2, 1.6]],
  wine: [['oz5', 5, 1], ['glass', 6, 1.2]],
  liquor: [['shot', 1.5, 1], ['double', 3, 2]],
  cocktail: [['standard', null, 1], ['strong', null, 2]],
};

/** The tap's time while the service is unavailable, if the session was active then. */
function when() {
  const away = whenAway();
  const start = live.state?.waterline?.startTime;
  return away.at && start && Date.parse(away.at) / 1000 > start ? away : {};
}

async function logged(promise, text) {
  if (navigator.vibrate && navigator.userActivation?.hasBeenActive) navigator.vibrate(15);
  const session = await promise;
  acceptSession(session);
  ask();
  toast(text, { action: t.undo, onaction: () => undo({ of: 'session' }) });
}

export const logWater = () => logged(enqueue('POST', '/session/water', when()), t.waterLogged);
const logPreset = (preset) => logged(enqueue('POST', '/session/drink', { preset: preset.name, ...when() }), t.drinkLogged);

export const presetChips = (presets, done = () => {}) => presets.map((preset) => h('button', {
  type: 'button', class: 'chip', 'data-preset': preset.id, onclick: () => { done(); logPreset(preset).catch(complain); },
}, preset.name));

/** +Drink: a preset at once, or type, size and an estimate that can be corrected. */
export function askDrink(presets, units) {
  let type = 'beer';
  let size = PICKER.beer[0];
  const estimate = h('input', { type: 'number', inputmode: 'decimal', min: 0.1, max: 10, step: 'any', required: true });
  const types = h('div', { class: 'segments wide', role: 'group', 'aria-label': t.type });
  const sizes = h('div', { class: 'chips', role: 'group', 'aria-label': t.size });

  function draw() {
    types.replaceChildren(...Object.keys(PICKER).map((each) => h('button', {
      type: 'button', 'aria-pressed': String(each === type), 'data-type': each, onclick: () => { type = each; size = PICKER[each][0]; draw(); types.querySelector(`[data-type=${each}]`).focus(); },
    }, t.types[each])));
    sizes.replaceChildren(...PICKER[type].map((each) => h('button', {
      type: 'button', class: 'chip', 'aria-pressed': String(each === size), 'data-size': each[0],
      onclick: () => { size = each; draw(); sizes.querySelector(`[data-size=${each[0]}]`).focus(); },
    }, each[1] ? `${t.sizes[each[0]] ?? ''} ${volume(each[1], units)}`.trim() : t.sizes[each[0]])));
    estimate.value = size[2];
  }
  const step = (by) => { estimate.value = String(Math.round(Math.min(10, Math.max(0.1, Number(estimate.value) + by * 0.1)) * 1000) / 1000); };

  draw();
  const estimateField = stepperField(t.estimate, estimate, step, { hint: t.estimateHint });
  const { close } = dialog(t.addDrinkTitle, [
    presets.length > 0 && h('div', { class: 'chips', role: 'group', 'aria-label': t.presets }, presetChips(presets, () => close())),
    types, sizes, estimateField,
  ].filter(Boolean), {
    save: t.log, onsave: async () => {
      const value = Number(estimate.value);
      if (!(value >= 0.1 && value <= 10)) throw new Error(t.estimateRule);
      const body = { type, estimate: value, ...when() };
      if (size[1]) body.oz = size[1];
      logged(enqueue('POST', '/session/drink', body), t.drinkLogged).catch(complain);
    },
  });
}
