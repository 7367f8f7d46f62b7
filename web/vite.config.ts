import { defineConfig } from "vite";

// The page goes into the server's crate, under names that do not change, so that a program
// built without Node has it too. `npm run build` gives the same bytes everywhere.
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
