// The part of gifenc that the page uses; the package has no types.
declare module "gifenc" {
  type Colour = [number, number, number];
  interface FrameOptions {
    palette?: Colour[] | undefined;
    /** Time for which the picture is shown, in milliseconds. */
    delay?: number;
    /** Number of repetitions; 0: without end. */
    repeat?: number;
    dispose?: number;
    transparent?: boolean;
    transparentIndex?: number;
  }
  interface Encoder {
    writeFrame(index: Uint8Array, width: number, height: number, options: FrameOptions): void;
    finish(): void;
    bytesView(): Uint8Array<ArrayBuffer>;
  }
  export function GIFEncoder(): Encoder;
  export function quantize(rgba: Uint8Array, colours: number, options: { format: "rgb565" }): Colour[];
  export function applyPalette(rgba: Uint8ClampedArray, palette: Colour[], format: "rgb565"): Uint8Array;
}
