0000000000008cc0 <post_run>:
push   %r15
mov    %rsi,%r11
push   %r14
push   %r13
push   %r12
mov    %rdi,%r12
push   %rbp
push   %rbx
sub    $0xf8,%rsp
movzbl 0x79(%rsi),%esi
mov    %edx,0x30(%rsp)
mov    %r9,%rdx
test   %sil,%sil
jne    92f0 <post_run+0x630>
mov    0x10(%rcx),%r14d
mov    (%rcx),%r10
xor    %r9d,%r9d
mov    0x8(%rcx),%r13
mov    0x14(%rcx),%ebx
lea    -0x8(%r14),%eax
mov    %eax,0x48(%rsp)
test   %r8b,%r8b
jne    8d66 <post_run+0xa6>
mov    %r14d,%edi
mov    %rbx,%rax
lea    0x78(%rsp),%r14
shr    $0x3,%edi
shl    $0x20,%rax
mov    %edi,%r8d
or     %r8,%rax
test   %rdx,%rdx
jne    8da0 <post_run+0xe0>
mov    %rax,0x70(%rsp)
test   %edi,%edi
je     8d55 <post_run+0x95>
lea    0x0(,%r8,8),%rdi
xor    %eax,%eax
nopl   0x0(%rax)
mov    (%r10,%rax,1),%rdx
mov    %rdx,(%r14,%rax,1)
add    $0x8,%rax
cmp    %rdi,%rax
jne    8d40 <post_run+0x80>
lea    (%r14,%r8,8),%r14
lea    0x70(%rsp),%rcx
mov    $0x1,%r9d
sub    %ecx,%r14d
mov    %rcx,%r10
mov    0x30(%rsp),%eax
mov    %rax,%rcx
shl    $0x4,%rax
cmpq   $0x0,0x48(%rax,%r11,1)
je     8dc0 <post_run+0x100>
test   %ecx,%ecx
jne    93cb <post_run+0x70b>
mov    $0x2,%eax
add    $0xf8,%rsp
pop    %rbx
pop    %rbp
pop    %r12
pop    %r13
pop    %r14
pop    %r15
ret
nopl   0x0(%rax,%rax,1)
mov    %rdx,0x78(%rsp)
or     $0x10,%rax
lea    0x80(%rsp),%r14
jmp    8d26 <post_run+0x66>
cs nopw 0x0(%rax,%rax,1)
cmpq   $0x0,0x2b0(%r12)
je     935c <post_run+0x69c>
mov    0x1b4(%r12),%eax
cmpl   $0x2,0x30(%rsp)
mov    0x4(%r11),%ecx
mov    %eax,0x3c(%rsp)
lea    0x278(%r12),%rax
mov    %rax,0x40(%rsp)
mov    0x290(%r12),%rax
cmovne 0x288(%r12),%rax
mov    %rax,0x10(%rsp)
test   %sil,%sil
jne    933a <post_run+0x67a>
mov    %ecx,%esi
test   %r14d,%r14d
je     92c8 <post_run+0x608>
mov    %ecx,0x4c(%rsp)
mov    %ebx,0x18(%rsp)
mov    %r11,0x8(%rsp)
jmp    8eb2 <post_run+0x1f2>
nopl   (%rax)
mov    0x8(%rsp),%rax
mov    0x278(%r12),%r8
mov    0x4(%rax),%ecx
mov    %rcx,%rax
shl    $0x4,%rax
sub    %rcx,%rax
lea    (%r8,%rax,8),%rax
cmpw   $0x0,0xc4(%rax)
jne    8e6a <post_run+0x1aa>
mov    0xb4(%rax),%esi
cmp    %esi,0xa4(%rax)
jb     8f6e <post_run+0x2ae>
push   %r14
mov    %r12,%rdi
mov    %r13,%r8
mov    %ebx,%ecx
push   %r9
mov    0x18(%rsp),%rsi
mov    %r11d,%r9d
mov    %r10,%rdx
call   8a40 <send_ride>
pop    %rsi
pop    %rdi
test   %al,%al
je     91a0 <post_run+0x4e0>
test   %r15d,%r15d
je     8fbd <post_run+0x2fd>
mov    0x8(%rsp),%rax
mov    0x20(%rsp),%r10
mov    %r15d,%r14d
mov    %rbp,%r13
mov    $0x2,%r9d
mov    0x4(%rax),%esi
mov    0x18(%rsp),%eax
mov    %esi,%edx
mov    0x10(%rsp),%rdi
lea    (%rax,%r14,1),%r15d
lea    0x0(,%rdx,8),%rax
sub    %rdx,%rax
lea    (%rdi,%rax,8),%rax
mov    0x5c(%rax),%edx
mov    0x58(%rax),%ecx
shr    %edx
or     $0x1,%edx
cmp    %ecx,%edx
jae    9130 <post_run+0x470>
cmpb   $0x0,0x6c(%rax)
jne    9130 <post_run+0x470>
cmpb   $0x0,0x40(%rdi)
jne    9130 <post_run+0x470>
sub    $0x1,%ecx
addq   $0x1,0x70(%rax)
mov    0x30(%rsp),%esi
mov    %ecx,0x58(%rax)
cmpb   $0x0,0xc8(%r12)
je     9180 <post_run+0x4c0>
mov    0x1b4(%r12),%ecx
mov    %r15d,%eax
mov    %r14d,%ebx
cmp    %r15d,%ecx
mov    %r14d,%r15d
cmovbe %ecx,%eax
cmp    %r14d,%eax
mov    %eax,%r11d
cmovbe %eax,%ebx
mov    %ebx,%edx
sub    %ebx,%r11d
sub    %ebx,%r15d
shr    $0x3,%edx
mov    %r11d,%ebp
lea    (%r10,%rdx,8),%rdi
add    %r13,%rbp
cmp    %eax,%r14d
movzbl %r9b,%r14d
mov    %rdi,0x20(%rsp)
mov    %ebx,%edi
cmovae %r13,%rbp
movzbl %sil,%r9d
sub    %eax,%edi
add    %edi,0x18(%rsp)
cmp    %ecx,%eax
jb     8e30 <post_run+0x170>
mov    0x8(%rsp),%rax
sub    $0x8,%rsp
mov    %r11d,%r8d
mov    %r13,%rcx
push   %r14
mov    %r10,%rsi
lea    0x8(%rax),%rdi
mov    %r9d,0x48(%rsp)
mov    %r11d,0x44(%rsp)
mov    %r10,0x38(%rsp)
call   d650 <velo2_send_header>
pop    %rdx
pop    %rcx
cmp    $0x9,%eax
mov    0x28(%rsp),%r10
mov    0x34(%rsp),%r11d
mov    0x38(%rsp),%r9d
je     38c8 <post_run.cold>
test   %r15d,%r15d
jne    8e99 <post_run+0x1d9>
mov    0x18(%rsp),%ebx
mov    0x4c(%rsp),%ecx
xor    %r15d,%r15d
xor    %r14d,%r14d
mov    0x8(%rsp),%r11
mov    $0x2,%r9d
mov    %rbp,%r13
test   %ebx,%ebx
je     91b3 <post_run+0x4f3>
mov    %ecx,%edx
mov    0x10(%rsp),%rsi
mov    %r9b,0x34(%rsp)
lea    0x0(,%rdx,8),%rax
mov    %ecx,0x38(%rsp)
sub    %rdx,%rax
mov    %r11,0x18(%rsp)
lea    (%rsi,%rax,8),%r14
lea    0x8(%r11),%rax
mov    %rax,0x28(%rsp)
jmp    907c <post_run+0x3bc>
mov    0x18(%rsp),%rax
mov    0x278(%r12),%r10
mov    0x4(%rax),%edx
mov    %rdx,%rax
shl    $0x4,%rax
sub    %rdx,%rax
lea    (%r10,%rax,8),%rax
cmpw   $0x0,0xc4(%rax)
jne    904a <post_run+0x38a>
mov    0xb4(%rax),%esi
cmp    %esi,0xa4(%rax)
jb     90e6 <post_run+0x426>
push   $0x2
mov    %rbp,%r8
xor    %ecx,%ecx
xor    %edx,%edx
push   %r9
mov    0x28(%rsp),%rsi
mov    %r15d,%r9d
mov    %r12,%rdi
call   8a40 <send_ride>
pop    %r8
pop    %r9
test   %al,%al
je     9290 <post_run+0x5d0>
test   %ebx,%ebx
je     911a <post_run+0x45a>
mov    %r13,%rbp
mov    0x3c(%rsp),%eax
mov    0x58(%r14),%edx
cmp    %ebx,%eax
mov    %eax,%r15d
mov    0x5c(%r14),%eax
cmova  %ebx,%r15d
shr    %eax
or     $0x1,%eax
cmp    %edx,%eax
jae    9250 <post_run+0x590>
cmpb   $0x0,0x6c(%r14)
jne    9250 <post_run+0x590>
mov    0x10(%rsp),%rax
cmpb   $0x0,0x40(%rax)
jne    9250 <post_run+0x590>
sub    $0x1,%edx
addq   $0x1,0x70(%r14)
mov    0x30(%rsp),%r9d
mov    %edx,0x58(%r14)
mov    %r15d,%r8d
sub    %r15d,%ebx
movzbl %r9b,%r9d
lea    0x0(%rbp,%r8,1),%r13
cmp    0x1b4(%r12),%r15d
jb     9010 <post_run+0x350>
sub    $0x8,%rsp
xor    %esi,%esi
xor    %edx,%edx
mov    %rbp,%rcx
push   $0x2
mov    0x38(%rsp),%rdi
mov    %r9d,0x18(%rsp)
call   d650 <velo2_send_header>
pop    %rsi
pop    %rdi
cmp    $0x9,%eax
mov    0x8(%rsp),%r9d
je     38f5 <post_run.cold+0x2d>
test   %ebx,%ebx
jne    9079 <post_run+0x3b9>
movzbl 0x34(%rsp),%r9d
mov    0x18(%rsp),%r11
xor    %r15d,%r15d
xor    %r14d,%r14d
jmp    92a1 <post_run+0x5e1>
cmp    $0x2,%r9b
mov    0x30(%rsp),%edx
mov    0x40(%rsp),%rdi
mov    %r15d,%ecx
setne  %r8b
mov    %r10,0x28(%rsp)
movzbl %r8b,%r8d
mov    %r9b,0x20(%rsp)
call   11100 <pen_mailbox_take>
movzbl 0x20(%rsp),%r9d
mov    0x28(%rsp),%r10
test   %eax,%eax
mov    %eax,%esi
jns    8f06 <post_run+0x246>
mov    0x18(%rsp),%ebx
mov    0x8(%rsp),%r11
mov    %r10,0x20(%rsp)
jmp    92a1 <post_run+0x5e1>
nop
mov    0x48(%rsp),%ebx
mov    %r14d,%eax
sub    %ebx,%eax
cmp    %r14d,%ebx
cmovae %r14d,%eax
mov    %eax,%r15d
jmp    8f15 <post_run+0x255>
nopl   0x0(%rax,%rax,1)
mov    0x18(%rsp),%ebx
mov    0x8(%rsp),%r11
mov    %r15d,%r14d
mov    %rbp,%r13
lea    (%r15,%rbx,1),%r15d
cmpb   $0x0,0x1c0(%r12)
mov    0x78(%r12),%rdx
mov    (%r11),%esi
mov    0x40(%r11),%rax
jne    9351 <post_run+0x691>
mov    (%rax),%eax
test   %eax,%eax
jne    93b6 <post_run+0x6f6>
mov    $0x2,%r9d
test   %r15d,%r15d
je     92e0 <post_run+0x620>
mov    0x20(%rsp),%rax
mov    %r13,0x58(%rsp)
mov    %r11,%rsi
mov    %r12,%rdi
mov    %r14d,0x60(%rsp)
sub    $0x20,%rsp
mov    %rax,0x70(%rsp)
mov    0x68(%rsp),%eax
mov    %ebx,0x84(%rsp)
mov    %eax,0x88(%rsp)
mov    %r9b,0x8c(%rsp)
movdqa 0x70(%rsp),%xmm0
movdqa 0x80(%rsp),%xmm1
mov    0x50(%rsp),%edx
movups %xmm0,(%rsp)
movups %xmm1,0x10(%rsp)
call   37ce <tx_keep>
add    $0x20,%rsp
jmp    8d86 <post_run+0xc6>
nopl   0x0(%rax)
mov    0x30(%rsp),%edx
mov    0x38(%rsp),%esi
xor    %r8d,%r8d
mov    %ebx,%ecx
mov    0x40(%rsp),%rdi
call   11100 <pen_mailbox_take>
mov    %eax,%r9d
test   %eax,%eax
jns    90c9 <post_run+0x409>
movzbl 0x34(%rsp),%r9d
mov    %ebx,%r15d
mov    %rbp,%r13
xor    %r14d,%r14d
mov    0x18(%rsp),%r11
jmp    92a1 <post_run+0x5e1>
nopl   0x0(%rax,%rax,1)
movzbl 0x34(%rsp),%r9d
mov    0x18(%rsp),%r11
mov    %ebx,%r15d
xor    %r14d,%r14d
cmp    $0x2,%r9b
je     91b3 <post_run+0x4f3>
test   %r15d,%r15d
je     92e0 <post_run+0x620>
mov    0x30(%rsp),%eax
test   %eax,%eax
je     8d81 <post_run+0xc1>
jmp    91e7 <post_run+0x527>
nopl   0x0(%rax)
mov    %r10,0x20(%rsp)
mov    %r13,%rbp
test   %ebx,%ebx
jne    8fe1 <post_run+0x321>
nopl   0x0(%rax,%rax,1)
xor    %eax,%eax
jmp    8d86 <post_run+0xc6>
nopw   0x0(%rax,%rax,1)
mov    0xc0(%rdi),%edi
cmp    %edi,(%r11)
jne    8ceb <post_run+0x2b>
mov    0x130(%r12),%eax
mov    0x30(%rsp),%esi
add    $0x40,%eax
cmp    %eax,0x338(%r12,%rsi,4)
jae    8d81 <post_run+0xc1>
mov    0x30(%rsp),%edx
mov    %edi,%esi
mov    %r9,%r8
mov    %r12,%rdi
call   7980 <extoll_hold>
xor    $0x1,%eax
movzbl %al,%eax
add    %eax,%eax
jmp    8d86 <post_run+0xc6>
movb   $0x1,0x2d9(%r12)
lea    (%rbx,%r14,1),%r15d
mov    %r10,0x20(%rsp)
jmp    92ab <post_run+0x5eb>
lock orq $0x0,(%rsp)
jmp    91ce <post_run+0x50e>
mov    0x78(%r12),%rax
mov    %r11,0x18(%rsp)
mov    $0x40,%edx
mov    $0x20c0,%esi
mov    %r10,0x10(%rsp)
mov    %r9b,0x8(%rsp)
mov    (%rax),%rdi
call   *0x38(%rax)
test   %rax,%rax
je     8d81 <post_run+0xc1>
mov    0x2b0(%r12),%rdx
mov    0x18(%rsp),%r11
mov    0x10(%rsp),%r10
movzbl 0x8(%rsp),%r9d
mov    %rdx,(%rax)
movzbl 0x79(%r11),%esi
mov    %rax,0x2b0(%r12)
jmp    8dcf <post_run+0x10f>
mov    %r11,0x8(%rsp)
mov    (%rdx),%rdi
call   *0x50(%rdx)
mov    0x8(%rsp),%r11
jmp    91d8 <post_run+0x518>
jmp    3920 <post_run.cold+0x58>

