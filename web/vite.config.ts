import { defineConfig } from "vite";

// The build writes the page to the server's crate, under constant names, so that a program built
// without Node also contains the page. `npm run build` gives the same bytes on every machine.
export default defineConfig({
  base: "/",
  build: {
    outDir: "../crates/web/assets",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        entryFileNames: "live.js",
        chunkFileNames: "[name].js",
        assetFileNames: "live.[ext]",
      },
    },
  },
});
