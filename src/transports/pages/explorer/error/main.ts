import '../header.ts';
