// Numbers and times as text.

/** Formats a moment of the run, in milliseconds. */
export function clock(us: number): string {
  const ms = Math.floor(us / 1_000);
  const s = Math.floor(ms / 1_000);
  const h = Math.floor(s / 3_600);
  const pad = (value: number, digits: number) => String(value).padStart(digits, "0");
  const tail = `${pad(Math.floor(s / 60) % 60, 2)}:${pad(s % 60, 2)}.${pad(ms % 1_000, 3)}`;
  return h > 0 ? `${h}:${tail}` : tail;
}

/** Formats seconds with the digits that the list of frames needs. */
export function seconds(us: number): string {
  return (us / 1e6).toFixed(6);
}

export function bytes(count: number): string {
  if (count < 1_000) return `${count} B`;
  if (count < 1e6) return `${(count / 1e3).toFixed(count < 1e4 ? 2 : 1)} kB`;
  return `${(count / 1e6).toFixed(2)} MB`;
}

export function percent(share: number): string {
  const value = share * 100;
  return `${value.toFixed(value < 10 ? 2 : 1)} %`;
}

export function speed(factor: number): string {
  if (factor >= 1) return `${Number(factor.toPrecision(3))}×`;
  return `1/${Number((1 / factor).toPrecision(3))}×`;
}
