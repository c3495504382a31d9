import Bluetooth

extension PeripheralProfile {
    package static let maximumExchanges = 2_000_000
    package static let maximumValues = 2_000_000
    /// The maximum delay of a response in milliseconds: one day.
    package static let maximumDelayMs = 86_400_000
    package static let maximumRules = 1000

    /// Checks the document.
    /// - Throws: for conflicting handles, values longer than an attribute, and rules for unknown handles.
    package func check() throws(ProfileError) {
        let mtu = mtu ?? ATTPDU.defaultMTU
        try require((ATTPDU.defaultMTU...ATTPDU.maximumMTU).contains(mtu), "mtu", "an MTU is 23 to 517, not \(mtu)")
        try require((name ?? "").utf8.count <= 248, "name", "a Bluetooth name has at most 248 bytes")
        // Do not use a loop over a list: the compiler would emit code in varying order, so builds would not be
        // reproducible.
        try checkAdvertised(advertisement, "advertisement")
        try checkAdvertised(scanResponse, "scanResponse")
        try checkTable()
        try checkConversations()
        try checkRules()
    }

    private func require(
        _ condition: Bool, _ path: String, _ sentence: @autoclosure () -> String
    ) throws(ProfileError) {
        if !condition { throw ProfileError(path, sentence()) }
    }

    private func checkAdvertised(_ data: Octets?, _ key: String) throws(ProfileError) {
        let count = data?.bytes.count ?? 0
        try require(count <= 254, key, "advertising data is limited to 254 bytes, but has \(count)")
    }

    private func checkTable() throws(ProfileError) {
        // The handles of all attributes must increase.
        var last = 0
        func checkHandle(_ handle: UInt16, _ path: String, _ attribute: String, upTo end: UInt16) throws(ProfileError) {
            try require(handle > 0, path, "\(attribute) has the handle 0, which no attribute has")
            try require(
                Int(handle) > last, path,
                """
                \(attribute) has the handle \(handle), but handles up to \(last) are used: handles must be unique \
                and increase
                """)
            try require(handle <= end, path, "\(attribute) has the handle \(handle), and its service ends at \(end)")
            last = Int(handle)
        }
        for (number, service) in services.enumerated() {
            let path = "services[\(number)]"
            try checkHandle(service.handle, path, "the service", upTo: .max)
            try require(
                service.end >= service.handle, path, "the service ends at \(service.end), before its declaration")
            for (index, include) in service.includes.enumerated() {
                try checkHandle(include.handle, "\(path).includes[\(index)]", "the include", upTo: service.end)
            }
            for (index, characteristic) in service.characteristics.enumerated() {
                let path = "\(path).characteristics[\(index)]"
                try checkHandle(characteristic.declaration, path, "the declaration", upTo: service.end)
                try checkHandle(characteristic.handle, path, "the value", upTo: service.end)
                try check(characteristic.value, path)
                for (index, descriptor) in characteristic.descriptors.enumerated() {
                    let path = "\(path).descriptors[\(index)]"
                    try checkHandle(descriptor.handle, path, "the descriptor", upTo: service.end)
                    try check(descriptor.value, path)
                }
            }
            last = Int(service.end)
        }
    }

    private func check(_ value: Octets?, _ path: String) throws(ProfileError) {
        let (count, limit) = (value?.bytes.count ?? 0, ATTPDU.maximumValueLength)
        try require(count <= limit, path, "a value is limited to \(limit) bytes, but has \(count)")
    }

    private func check(_ delay: Int, _ path: String) throws(ProfileError) {
        try require(
            (0...Self.maximumDelayMs).contains(delay), path, "afterMs is 0 to \(Self.maximumDelayMs), not \(delay)")
    }

    private func check(_ response: Response?, _ values: [Value]?, _ path: String) throws(ProfileError) {
        if let response {
            try check(response.value, path + ".response")
            try check(response.afterMs, path + ".response")
            try require(response.error != 0, path + ".response", "0 is not an ATT error; omit it for success")
        }
        for (index, value) in (values ?? []).enumerated() {
            try check(value.value, "\(path).values[\(index)]")
            try check(value.afterMs, "\(path).values[\(index)]")
        }
    }

    private func checkConversations() throws(ProfileError) {
        try require(
            exchangeCount <= Self.maximumExchanges, "conversations", "more than \(Self.maximumExchanges) exchanges")
        let values = conversations.reduce(0) { $0 + $1.exchanges.reduce(0) { $0 + ($1.values?.count ?? 0) } }
        try require(values <= Self.maximumValues, "conversations", "more than \(Self.maximumValues) values")
        for (number, conversation) in conversations.enumerated() {
            for (index, exchange) in conversation.exchanges.enumerated() {
                let path = "conversations[\(number)].exchanges[\(index)]"
                try require(
                    (exchange.request == .connect) == (exchange.handle == nil), path,
                    exchange.handle == nil ? "the \(exchange.request.rawValue) has no handle" : "connect has a handle")
                try check(exchange.value, path)
                try check(exchange.response, exchange.values, path)
            }
        }
    }

    private func checkRules() throws(ProfileError) {
        try require(rules.count <= Self.maximumRules, "rules", "more than \(Self.maximumRules) rules")
        let names = Set(rules.compactMap(\.name))
        for (index, rule) in rules.enumerated() {
            let path = "rules[\(index)]"
            try require(
                rule.then.map(names.contains) ?? true, path,
                "'then' names the rule '\((rule.then ?? "").prefix(60))', which does not exist")
            try check(rule.response, rule.values, path)
        }
    }
}
