// Counts words, by a hash table of strings.
#include <fstream>
#include <iostream>
#include <string>
#include <unordered_map>
int main(int, char **argv)
{
    std::ifstream file(argv[1]);
    std::unordered_map<std::string, int> counts;
    std::string word, most;
    while (file >> word)
        if (++counts[word] > counts[most])
            most = word;
    std::cout << most << ' ' << counts[most] << '\n';
}
