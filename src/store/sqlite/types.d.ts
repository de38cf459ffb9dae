// better-sqlite3 has one entry for each platform, see package.json; they are all the same module.
declare module "#sqlite/linux-x64" {
  import Database from "better-sqlite3";
  export default Database;
}
declare module "#sqlite/linux-arm64" {
  import Database from "better-sqlite3";
  export default Database;
}
