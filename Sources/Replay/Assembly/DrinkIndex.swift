/// Which drinks of one bottle were delivered before.
///
/// A drink's identity is the bottle, the six wall-clock bytes and the amount (protocol section 3, "Duplicates"); the
/// bottle is fixed here, so eight bytes remain. Drinks with a possible date are kept by day, four bytes each: the
/// second of the day and the amount. What does not fit (impossible dates, 32,768 ml and more) is kept whole.
///
/// Pages are held by pointers of their own: a large capture asks millions of times, and retaining a page or having the
/// runtime check the access to it would cost more than the look-up.
struct DrinkIndex: ~Copyable {
    private typealias Page = UnsafeMutablePointer<FlatSet<UInt32>>

    /// A page a day, by the year, month and day bytes packed into 17 bits.
    private var pages: [UInt32: Page] = [:]
    private var oddities = FlatSet<UInt64>()
    private var lastDay = UInt32.max
    private var lastPage: Page?

    init() {}

    deinit {
        for page in pages.values {
            page.deinitialize(count: 1)
            page.deallocate()
        }
    }

    /// Remembers a drink; false when it was there before.
    ///
    /// - Parameters:
    ///   - wall: the record's bytes 0 to 5 (year − 2000, month, day, hour, minute, second), first byte highest.
    ///   - amount: ml.
    @inline(__always)
    mutating func insert(wall: UInt64, amount: UInt16) -> Bool {
        let month = wall >> 32 & 0xFF, day = wall >> 24 & 0xFF
        let hour = wall >> 16 & 0xFF, minute = wall >> 8 & 0xFF, second = wall & 0xFF
        guard month < 16, day < 32, hour < 24, minute < 60, second < 60, amount < 1 << 15 else {
            return oddities.insert(wall << 16 | UInt64(amount))
        }
        let key = UInt32(truncatingIfNeeded: (wall >> 40 & 0xFF) << 9 | month << 5 | day)
        if key != lastDay { turn(to: key) }
        let secondOfDay = UInt32(truncatingIfNeeded: hour * 3600 + minute * 60 + second)
        return lastPage?.pointee.insert(secondOfDay << 15 | UInt32(amount)) ?? false
    }

    /// Every drink, as `wall` and `amount` of `insert` side by side.
    func forEach(_ body: (UInt64) -> Void) {
        for (day, page) in pages {
            let date = UInt64(day >> 9) << 40 | UInt64(day >> 5 & 0xF) << 32 | UInt64(day & 0x1F) << 24
            page.pointee.forEach { drink in
                let second = UInt64(drink >> 15)
                let wall = date | (second / 3600) << 16 | (second / 60 % 60) << 8 | second % 60
                body(wall << 16 | UInt64(drink & 0x7FFF))
            }
        }
        oddities.forEach(body)
    }

    private mutating func turn(to day: UInt32) {
        lastDay = day
        if let page = pages[day] {
            lastPage = page
            return
        }
        let page = Page.allocate(capacity: 1)
        page.initialize(to: FlatSet())
        pages[day] = page
        lastPage = page
    }
}
