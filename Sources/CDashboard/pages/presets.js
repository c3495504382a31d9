import { get, request } from './api.js';
import { h, keyedRows, setText } from './dom.js';
import { number } from './format.js';
import { t } from './texts.js';
import { confirmThen, dialog, field, group, iconButton, option } from './ui.js';

const TYPES = ['beer', 'wine', 'liquor', 'cocktail'];

export function presetList(presets) {
  const list = h('ul', { class: 'plain-list' });
  const empty = h('p', { class: 'empty' }, t.noPresets);
  const rows = keyedRows(list, (preset) => preset.id, () => {
    const name = h('strong');
    const more = h('span', { class: 'from' });
    const row = h('li', {}, h('span', { class: 'row-text' }, name, more),
      iconButton('edit', t.edit, () => edit(row.preset)),
      iconButton('bin', t.delete, () => confirmThen(t.deletePreset, t.deletePresetWords(row.preset.name), t.delete, async () => {
        await request('DELETE', `/presets/${row.preset.id}`);
        await load();
      })));
    Object.assign(row, { name, more });
    return row;
  }, (row, preset) => {
    row.preset = preset;
    setText(row.name, preset.name);
    setText(row.more, [t.types[preset.drinkType], preset.sizeOz && `${number(preset.sizeOz)} oz`, preset.abv && `${number(preset.abv)} %`, t.standard(number(preset.standardDrinkEstimate))].filter(Boolean).join(' · '));
    const [change, remove] = row.querySelectorAll('button');
    change.setAttribute('aria-label', `${t.edit}: ${preset.name}`);
    remove.setAttribute('aria-label', `${t.delete}: ${preset.name}`);
  });

  function draw(next) {
    rows(next);
    empty.hidden = next.length > 0;
  }

  const load = async () => draw((await get('/presets')).presets);

  function edit(preset) {
    const name = h('input', { type: 'text', required: true, maxlength: 64, value: preset?.name ?? '' });
    const type = h('select', {}, TYPES.map((each) => option(each, t.types[each], each === (preset?.drinkType ?? 'beer'))));
    const size = (value, max) => h('input', { type: 'number', inputmode: 'decimal', step: 'any', min: 0, max, value: value ?? '' });
    const [oz, abv, estimate] = [size(preset?.sizeOz, 100), size(preset?.abv, 100), size(preset?.standardDrinkEstimate, 10)];
    dialog(preset ? t.editPreset : t.newPreset, [
      field(t.name, name), field(t.type, type), field(t.sizeOz, oz), field(t.abv, abv), field(t.estimate, estimate, { hint: t.presetHint }),
    ], { onsave: async () => {
      const wanted = { name: name.value.trim(), type: type.value };
      for (const [key, input] of [['oz', oz], ['abv', abv], ['estimate', estimate]]) if (input.value !== '') wanted[key] = Number(input.value);
      for (const [key, input, had] of [['oz', oz, preset?.sizeOz], ['abv', abv, preset?.abv]]) if (input.value === '' && had != null) wanted[key] = null;
      if (preset) {
        const old = { name: preset.name, type: preset.drinkType, oz: preset.sizeOz, abv: preset.abv, estimate: preset.standardDrinkEstimate };
        const changes = Object.fromEntries(Object.entries(wanted).filter(([key, value]) => value !== old[key]));
        if (Object.keys(changes).length) await request('PATCH', `/presets/${preset.id}`, changes);
      } else await request('POST', '/presets', wanted);
      await load();
    } });
  }

  draw(presets);
  return group(t.presets, 'presets', list, empty, h('button', { type: 'button', class: 'quiet', onclick: () => edit(null) }, t.newPreset));
}
