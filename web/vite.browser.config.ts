import { defineConfig } from "vite";

// The page with the simulator in the browser: a folder for any web server, under any path.
// `make wasm` adds redpoll.wasm.
const names = {
  entryFileNames: "[name].js",
  chunkFileNames: "[name].js",
  assetFileNames: "live.[ext]",
};

export default defineConfig({
  root: "browser",
  base: "./",
  build: {
    outDir: "../../target/browser",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: { output: names },
  },
  worker: { format: "es", rolldownOptions: { output: names } },
});
