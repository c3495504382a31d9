// One setting: its name, what it does in one sentence, its control, and beside it the rule when a value was refused.
import { request } from './api.js';
import { h, setText, show } from './dom.js';
import { number } from './format.js';
import { ask } from './live.js';
import { remembered } from './memory.js';
import { said, t } from './texts.js';
import { announce, option } from './ui.js';

let rows = 0;

/** `entry`: {name, kind, default, range or values, sentence, group}, as the service lists it. */
export function settingRow(entry, value, { presets = [] } = {}) {
  rows += 1;
  const id = `setting-${rows}`;
  const words = t.settings[entry.name];
  const name = words?.[0] ?? entry.name;
  const sentence = words?.[1] ?? entry.sentence ?? '';
  const control = controlFor(entry, value, presets);
  const error = h('p', { class: 'error', id: `${id}-error`, role: 'alert', hidden: true });
  const saved = h('span', { class: 'saved', 'aria-hidden': 'true', hidden: true }, '✓');
  control.input.id = id;
  control.input.setAttribute('aria-describedby', `${id}-hint ${id}-error`);
  control.input.dataset.setting = entry.name;
  let stands = value;

  control.input.addEventListener('change', async () => {
    const wanted = control.read();
    if (JSON.stringify(wanted) === JSON.stringify(stands)) return clear();
    try {
      const all = await request('PATCH', '/settings', { [entry.name]: wanted });
      stands = all?.[entry.name] ?? wanted;
      control.write(stands);
      clear();
      show(saved, true);
      setTimeout(() => show(saved, false), 2500);
      announce(t.settingSaved(name));
      if (entry.name === 'week.firstDay') remembered.weekFirstDay = null;
      ask();
    } catch (problem) {
      // The old value stands; what was typed stays to be put right.
      setText(error, said(problem.message));
      show(error, true);
      control.input.setAttribute('aria-invalid', 'true');
    }
  });

  function clear() {
    show(error, false);
    setText(error, '');
    control.input.removeAttribute('aria-invalid');
  }

  return h('div', { class: `setting ${control.kind}` },
    h('div', { class: 'setting-words' }, h('label', { for: id }, name), h('small', { id: `${id}-hint` }, sentence, defaultWords(entry))),
    h('div', { class: 'setting-control' }, saved, control.input), error);
}

function defaultWords(entry) {
  if (entry.default === undefined || entry.default === null || typeof entry.default === 'boolean') return '';
  const value = entry.default;
  const words = Array.isArray(value) ? value.join(', ') : typeof value === 'number' ? number(value) : t.choices[value] ?? value;
  return ` ${t.defaultIs(words)}`;
}

const SECRET = '(set)';

/** The zones that this browser knows, to choose from while typing. */
function zones() {
  if (!document.getElementById('zones') && Intl.supportedValuesOf) {
    document.body.append(h('datalist', { id: 'zones' }, Intl.supportedValuesOf('timeZone').map((zone) => h('option', { value: zone }))));
  }
  return 'zones';
}

const isFlag = (entry) => typeof entry.default === 'boolean' || ['flag', 'bool', 'boolean'].includes(entry.kind);
const bounds = ({ range }) => (Array.isArray(range) ? { min: range[0], max: range[1] } : { min: range?.min ?? range?.from, max: range?.max ?? range?.to, step: range?.step });

function controlFor(entry, value, presets) {
  if (isFlag(entry)) {
    const input = h('input', { type: 'checkbox', role: 'switch' });
    input.checked = value === true;
    return { kind: 'flag', input, read: () => input.checked, write: (next) => { input.checked = next === true; } };
  }
  let values = Array.isArray(entry.values) ? entry.values : null;
  let names = (each) => t.choices[each] ?? String(each);
  if (entry.name === 'waterline.defaultPreset') {
    values = presets.map((preset) => preset.id);
    names = (id) => presets.find((preset) => preset.id === id)?.name ?? id;
  }
  if (values) {
    const isOptional = entry.default === null || entry.name === 'waterline.defaultPreset';
    const input = h('select', {}, isOptional && option('', t.unset), values.map((each) => option(String(each), names(each))));
    const write = (next) => { input.value = next === null || next === undefined ? '' : String(next); };
    write(value);
    return { kind: 'choice', input, write, read: () => (input.value === '' ? null : values.find((each) => String(each) === input.value)) };
  }
  const isNumber = typeof entry.default === 'number' || typeof value === 'number';
  const text = (next) => (next === null || next === undefined ? '' : Array.isArray(next) ? next.join(', ') : String(next));
  if (isNumber) {
    const { min, max, step } = bounds(entry);
    const input = h('input', { type: 'number', inputmode: 'decimal', min, max, step: step ?? 'any', value: text(value) });
    // What is no number goes to the service as it is: the service names the rule.
    return { kind: 'number', input, write: (next) => { input.value = text(next); }, read: () => (input.value === '' ? null : Number(input.value)) };
  }
  const isList = Array.isArray(entry.default) || Array.isArray(value);
  // A secret one is never shown, only that it is set.
  const isSecret = value === SECRET;
  const input = h('input', {
    type: isSecret ? 'password' : 'text', value: isSecret ? '' : text(value), autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false',
    placeholder: isSecret ? t.isSet : isList ? '' : t.unset, list: /[zZ]one$/.test(entry.name) ? zones() : null,
  });
  return {
    kind: isList ? 'list' : 'text', input, write: (next) => { input.value = next === SECRET ? '' : text(next); },
    read: () => {
      const typed = input.value.trim();
      if (typed === '') return isList ? [] : null;
      if (!isList) return typed;
      const parts = typed.split(/[,;\s]+/).filter(Boolean);
      return parts.every((part) => /^-?\d+$/.test(part)) ? parts.map(Number) : parts;
    },
  };
}
