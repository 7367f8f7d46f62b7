// Conversion between metres and pixels.

export class View {
  width = 1;
  height = 1;
  /** Pixels per metre. */
  scale = 1;
  /** Coordinates of the middle of the map, in metres. */
  x = 0;
  y = 0;

  toScreen(x: number, y: number): [number, number] {
    return [this.width / 2 + (x - this.x) * this.scale, this.height / 2 - (y - this.y) * this.scale];
  }

  toMetres(px: number, py: number): [number, number] {
    return [this.x + (px - this.width / 2) / this.scale, this.y - (py - this.height / 2) / this.scale];
  }

  /** Shows all positions, with a margin. */
  fit(xs: number[], ys: number[]): void {
    if (xs.length === 0) return;
    const [left, right] = [Math.min(...xs), Math.max(...xs)];
    const [low, high] = [Math.min(...ys), Math.max(...ys)];
    this.x = (left + right) / 2;
    this.y = (low + high) / 2;
    const room = 64;
    const wide = Math.max(1, this.width - 2 * room) / Math.max(right - left, 1);
    const tall = Math.max(1, this.height - 2 * room) / Math.max(high - low, 1);
    this.scale = Math.min(wide, tall, 60);
  }

  zoom(factor: number, px = this.width / 2, py = this.height / 2): void {
    const [x, y] = this.toMetres(px, py);
    this.scale = Math.min(Math.max(this.scale * factor, 0.05), 400);
    const [nx, ny] = this.toMetres(px, py);
    this.x += x - nx;
    this.y += y - ny;
  }

  pan(dx: number, dy: number): void {
    this.x -= dx / this.scale;
    this.y += dy / this.scale;
  }
}
