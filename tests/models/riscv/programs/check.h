/* SPDX-License-Identifier: Apache-2.0 */
/* Macros of self-checking programs: a check compares a register with what was worked out by hand;
 * the first that differs ends the program with its number. Uses gp, t5 and t6; a program starts
 * with `begin`, ends with `finish`. */

.macro begin.option norelax.option norvc.section.text.start,
    "ax".globl _start _start
    :.endm

         .macro check number,
    register, expected li gp, \number li t6, \expected bne     \register, t6,
    fail.endm

        /* op a3, a1, a2 */
        .macro binary number,
    op, a, b, expected li a1, \a li a2, \b
        \op a3, a1, a2 check   \number, a3, \expected
                                                 .endm

                                                 /* op a3, a1, immediate */
                                                 .macro unary number,
    op, a, immediate, expected li a1, \a
        \op a3, a1, \immediate check   \number, a3, \expected
                                                         .endm

                                                         .macro finish.text pass : li t5,
    1 j tell fail : slli t5,
                    gp,
                    1 ori t5,
                    t5,
                    1 tell : la t6,
                             tohost sw t5,
                             0(t6)j..bss.balign 8.globl tohost tohost :.zero 8.endm
