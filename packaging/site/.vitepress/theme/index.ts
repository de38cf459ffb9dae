// VitePress' own theme, in the fonts of the system: nothing is fetched from elsewhere.
import theme from "vitepress/theme-without-fonts";
import "./style.css";

export default theme;
