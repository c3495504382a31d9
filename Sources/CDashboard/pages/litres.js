/** Litres with one decimal, as C's `%.1f`: the nearest tenth of the binary number, or the even one of two equally
 *  near. */
export const tenthsOfLitre = (ml) => {
  // As `toFixed`, which rounds ties up. Only quarters are ties: no other half of a tenth is a binary fraction.
  if (Math.abs(ml) % 500 === 250) return (Math.round(ml / 200) / 5).toFixed(1);
  return (ml / 1000).toFixed(1);
};
