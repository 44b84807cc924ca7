/* Of its own, so that the list of an entry's headers has one. */
enum { PAGES = 4 };
