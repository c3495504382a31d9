// Light or dark: the system's choice, unless this device has its own setting.
import { remembered } from './memory.js';

export function applyTheme() {
  const wanted = remembered.theme;
  if (wanted === 'light' || wanted === 'dark') document.documentElement.dataset.theme = wanted;
  else delete document.documentElement.dataset.theme;
}
