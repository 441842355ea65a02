# Makes a program of the C++ blocks of docs/cpp.md: includes and structs in front, then main, which has all other blocks in their order.
#   awk -f cxx_docs.awk docs/cpp.md > docs.cpp
/^```cpp$/ { inside = 1; first = 1; next }
/^```$/ { inside = 0 }
inside && first { first = 0; in_front = $1 == "#include" || $1 == "struct" }
inside && in_front { print }
inside && !in_front { body = body "    " $0 "\n" }
END { printf "\nint main() {\n%s}\n", body }
