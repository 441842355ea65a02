// ozarr.hpp: stores of a program's own, and stores over stores.
#include <ozarr.hpp>

#include "throws.h"
#include <cerrno>
#include <map>
#include <stdexcept>

static int alive = 0, mood = 0;

// Keys in a std::map; in a bad mood it throws.
class map_store : public ozarr::own_store {
public:
    map_store() { alive++; }
    ~map_store() override { alive--; }
    map_store(const map_store &) = delete;
    map_store &operator=(const map_store &) = delete;

    std::string name() const override { return "map:"; }
    std::uint32_t can() const override { return OZARR_STORE_CAN_WRITE | OZARR_STORE_CAN_ERASE | OZARR_STORE_CAN_LIST; }
    std::optional<bytes> get(const std::string &key) override {
        if (mood == 1) throw std::runtime_error("the map is lost");
        if (mood == 2) throw ozarr::error(OZARR_ERR_PERMISSION, "the map is secret");
        if (mood == 3) throw 3;
        if (mood == 4) throw ozarr::error(OZARR_ERR_NO_SPACE, "the map is full", key, "row", ENOSPC);
        const auto found = all_.find(key);
        return found == all_.end() ? std::nullopt : std::optional<bytes>(found->second);
    }
    void put(const std::string &key, const void *data, std::size_t size) override {
        const auto *first = static_cast<const unsigned char *>(data);
        all_[key] = size == 0 ? bytes() : bytes(first, first + size);
    }
    bool erase(const std::string &key) override { return all_.erase(key) != 0; }
    std::vector<std::string> list(const std::string &prefix) override {
        std::vector<std::string> keys;
        for (const auto &entry : all_)
            if (entry.first.compare(0, prefix.size(), prefix) == 0) keys.push_back(entry.first);
        return keys;
    }

private:
    std::map<std::string, bytes> all_;
};

class empty_store : public ozarr::own_store {
public:
    std::optional<bytes> get(const std::string &) override { return std::nullopt; }
};

static void a_class_is_a_store() {
    {
        auto s = ozarr::store::own(std::make_unique<map_store>());
        auto a = s.create_array("g/a", ozarr::spec::of<double>({4, 3}).chunks({2, 3}));
        const std::vector<double> x{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
        a.write(x);
        a.close();
        CHECK(s.open_array("g/a").read<double>() == x && s.open_group("g").children().size() == 1);
        mood = 1;
        THROWS(OZARR_ERR_CALLBACK, "the map is lost", s.open_array("g/a"));
        mood = 2;
        THROWS(OZARR_ERR_PERMISSION, "the map is secret", s.open_array("g/a"));
        mood = 3;
        THROWS(OZARR_ERR_CALLBACK, "no std::exception", s.open_array("g/a"));
        mood = 4;
        try {
            (void)s.open_array("g/a");
        } catch (const ozarr::error &e) {
            CHECK(e.status() == OZARR_ERR_NO_SPACE && e.os_errno() == ENOSPC && e.key().find("g/a/") == 0);
            CHECK(std::string(e.what()).find("row: the map is full") != std::string::npos);
            mood = 0;
        }
        EQUAL(mood, 0);
        EQUAL(alive, 1);
        auto part = s.below("g");
        CHECK(part.open_array("a").read<double>() == x);
        THROWS(OZARR_ERR_READ_ONLY, "reading only", part.create_group("more"));
        auto cache = s.cached(1 << 20, "r+");
        CHECK(cache.open_array("g/a").read<double>() == x);
        cache.open_array("g/a").write(std::vector<double>(12, 5.0));
        CHECK(cache.open_array("g/a").read<double>() == std::vector<double>(12, 5.0));
    }
    EQUAL(alive, 0);
    THROWS(OZARR_ERR_ARGUMENT, "\"w\"", ozarr::store::own(std::make_unique<map_store>(), "w"));
    EQUAL(alive, 0);
    THROWS(OZARR_ERR_NULL, "no functions", ozarr::store::own(nullptr));
    auto none = ozarr::store::own(std::make_unique<empty_store>());
    THROWS(OZARR_ERR_READ_ONLY, "cannot be written", none.create_group("g"));
    THROWS(OZARR_ERR_NOT_FOUND, "", none.open_array("a"));
}

static void a_handle_is_taken_over() {
    ozarr_store *made = nullptr;
    CHECK(ozarr_store_memory(&made) == OZARR_OK);
    auto s = ozarr::store::adopt(made);
    s.create_group("g").close();
    CHECK(s.open_group("g").children().empty());
}

int main() {
    a_class_is_a_store();
    a_handle_is_taken_over();
    return finish();
}
