// better-sqlite3 has one entry for each platform; they are all the same module.
declare module "better-sqlite3/linux-x64" {
  import Database from "better-sqlite3";
  export default Database;
}
declare module "better-sqlite3/linux-arm64" {
  import Database from "better-sqlite3";
  export default Database;
}
