/* SPDX-License-Identifier: BSD-3-Clause */
/* empty.c: a program that does nothing: what the system needs for a process. */
int main(void) { return 0; }
