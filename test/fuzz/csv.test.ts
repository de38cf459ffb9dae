import { fuzzList } from "./lists.ts";

fuzzList({
  name: "csv",
  type: "text/csv",
  seeds: [
    "userId,value\r\nu1,5\r\nu2,\r\n",
    'id,name,value\n"u,1","a ""quoted"" name",x\nu2,"two\nlines",y\n',
    '\uFEFF"User_ID"\nu1\n\nu2',
    "value;user\nx;u1\n",
    'user\n"never closed\nu2\n',
    "name\nx\n",
  ],
  pieces: [
    "userId",
    "user_id",
    "user",
    "id",
    "value",
    "u1",
    ",",
    ",",
    "\n",
    "\r\n",
    "\n",
    '"',
    '""',
    '","',
    "é",
    '"\n',
  ],
  harmless: 'u1,"a value"\n',
});
