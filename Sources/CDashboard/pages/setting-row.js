// One setting: its name, one line of help, its control, and the rule after an invalid value.
import { request } from './api.js';
import { h, setText, show } from './dom.js';
import { number } from './format.js';
import { ask } from './live.js';
import { said, t } from './texts.js';
import { announce, option } from './ui.js';

let rows = 0;

/** `entry`: {name, group, default, rule}, from the service; the rule determines the control. */
export function settingRow(entry, value, { presets = [], onsaved } = {}) {
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
      ask();
      onsaved?.(entry.name, stands);
    } catch (problem) {
      // The old value stays set; the input stays for correction.
      setText(error, ruleIn(problem.message));
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
  if (entry.default === undefined || entry.default === null || isFlag(entry)) return '';
  const value = entry.default;
  const words = Array.isArray(value) ? value.join(', ') : typeof value === 'number' ? number(value) : t.choices[value] ?? value;
  return ` ${t.defaultIs(words)}`;
}

/** `invalid hydration.glassMl '5': expected … It stays 200.`: the rule as a sentence, for the text at the field. */
function ruleIn(message) {
  const found = /^invalid \S+ '[^]*': (.+?)(?: It stays (.+)\.)?$/.exec(message);
  if (!found) return said(message);
  return [said(found[1].replace(/^expected /, 'It must be ')), found[2] && t.stays(found[2] === 'unset' ? t.unset : found[2])].filter(Boolean).join(' ');
}

const SECRET = '(set)';

function zones() {
  if (!document.getElementById('zones') && Intl.supportedValuesOf) {
    document.body.append(h('datalist', { id: 'zones' }, Intl.supportedValuesOf('timeZone').map((zone) => h('option', { value: zone }))));
  }
  return 'zones';
}

const isFlag = (entry) => typeof entry.default === 'boolean';

/** The choices in the rule: `It must be one of pace, interval, adaptive, all.`, `It must be ml, l or oz, or unset.` */
function choicesOf(entry, value) {
  if (Array.isArray(entry.values)) return entry.values;
  const rule = entry.rule ?? '';
  const patterns = [/^It must be one of ([\d., ]*\d)(?: [a-z]+)?\.$/, /^It must be one of (.+)\.$/, /^It must be ((?:\w+, )*\w+ or \w+), or unset/];
  const listed = patterns.map((pattern) => pattern.exec(rule)?.[1]).find(Boolean);
  if (!listed) return null;
  const words = listed.split(/, | or /);
  // If the present value is not one of the choices, the rule was parsed incorrectly: use a text field.
  const choices = typeof entry.default === 'number' ? words.map(Number) : words;
  const known = value ?? entry.default;
  return choices.every((each) => !Number.isNaN(each)) && (known === null || choices.includes(known)) ? choices : null;
}

/** `It must be a whole number from 500 to 5000 ml.` */
function boundsOf(entry) {
  if (Array.isArray(entry.range)) return { min: entry.range[0], max: entry.range[1] };
  const found = /from ([\d.]+) to ([\d.]+)/.exec(entry.rule ?? '');
  return found ? { min: found[1], max: found[2] } : {};
}

function controlFor(entry, value, presets) {
  if (isFlag(entry)) {
    const input = h('input', { type: 'checkbox', role: 'switch' });
    input.checked = value === true;
    return { kind: 'flag', input, read: () => input.checked, write: (next) => { input.checked = next === true; } };
  }
  let values = choicesOf(entry, value);
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
    const { min, max } = boundsOf(entry);
    const input = h('input', { type: 'number', inputmode: 'decimal', min, max, step: 'any', value: text(value) });
    // An invalid number is sent unchanged: the service's error contains the rule.
    return { kind: 'number', input, write: (next) => { input.value = text(next); }, read: () => (input.value === '' ? null : Number(input.value)) };
  }
  const isList = Array.isArray(entry.default) || Array.isArray(value);
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
