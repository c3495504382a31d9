import Bluetooth

extension PeripheralProfile {
    /// The maximum number of exchanges of all conversations.
    package static let maximumExchanges = 2_000_000
    /// The maximum number of values of all conversations.
    package static let maximumValues = 2_000_000
    /// The maximum delay of a response in milliseconds: one day.
    package static let maximumDelayMs = 86_400_000
    package static let maximumRules = 1000

    /// Checks the document.
    /// - Throws: for conflicting handles, values longer than an attribute, and rules for unknown handles.
    package func check() throws(ProfileError) {
        if let mtu, !(ATTPDU.defaultMTU...ATTPDU.maximumMTU).contains(mtu) {
            throw ProfileError("mtu", "an MTU is 23 to 517, not \(mtu)")
        }
        if let name, name.utf8.count > 248 { throw ProfileError("name", "a Bluetooth name has at most 248 bytes") }
        // Do not use a loop over a list: the compiler would emit code in varying order, so builds would not be
        // reproducible.
        try Self.check(advertisement, "advertisement")
        try Self.check(scanResponse, "scanResponse")
        try checkTable()
        try checkConversations()
        try checkRules()
    }

    private static func check(_ advertised: Octets?, _ key: String) throws(ProfileError) {
        if let count = advertised?.bytes.count, count > 254 {
            throw ProfileError(key, "advertising data is limited to 254 bytes, but has \(count)")
        }
    }

    private func checkTable() throws(ProfileError) {
        // The handles of all attributes must increase.
        var last = 0
        func checkHandle(_ handle: UInt16, _ place: String, _ what: String, upTo end: UInt16) throws(ProfileError) {
            guard handle > 0 else { throw ProfileError(place, "\(what) has the handle 0, which no attribute has") }
            guard Int(handle) > last else {
                throw ProfileError(
                    place,
                    """
                    \(what) has the handle \(handle), but handles up to \(last) are used: handles must be unique and \
                    increase
                    """
                )
            }
            guard handle <= end else {
                throw ProfileError(place, "\(what) has the handle \(handle), and its service ends at \(end)")
            }
            last = Int(handle)
        }
        for (number, service) in services.enumerated() {
            let place = "services[\(number)]"
            try checkHandle(service.handle, place, "the service", upTo: .max)
            guard service.end >= service.handle else {
                throw ProfileError(place, "the service ends at \(service.end), before its declaration")
            }
            for (index, include) in service.includes.enumerated() {
                try checkHandle(include.handle, "\(place).includes[\(index)]", "the include", upTo: service.end)
            }
            for (index, characteristic) in service.characteristics.enumerated() {
                let place = "\(place).characteristics[\(index)]"
                try checkHandle(characteristic.declaration, place, "the declaration", upTo: service.end)
                try checkHandle(characteristic.handle, place, "the value", upTo: service.end)
                try check(characteristic.value, place)
                for (index, descriptor) in characteristic.descriptors.enumerated() {
                    let place = "\(place).descriptors[\(index)]"
                    try checkHandle(descriptor.handle, place, "the descriptor", upTo: service.end)
                    try check(descriptor.value, place)
                }
            }
            last = Int(service.end)
        }
    }

    private func check(_ value: Octets?, _ place: String) throws(ProfileError) {
        guard let value, value.bytes.count > ATTPDU.maximumValueLength else { return }
        throw ProfileError(
            place, "a value is limited to \(ATTPDU.maximumValueLength) bytes, but has \(value.bytes.count)")
    }

    private func check(_ delay: Int, _ place: String) throws(ProfileError) {
        guard (0...Self.maximumDelayMs).contains(delay) else {
            throw ProfileError(place, "afterMs is 0 to \(Self.maximumDelayMs), not \(delay)")
        }
    }

    private func check(_ response: Response?, _ values: [Value]?, _ place: String) throws(ProfileError) {
        if let response {
            try check(response.value, place + ".response")
            try check(response.afterMs, place + ".response")
            if response.error == 0 {
                throw ProfileError(place + ".response", "0 is not an ATT error; omit it for success")
            }
        }
        for (index, value) in (values ?? []).enumerated() {
            try check(value.value, "\(place).values[\(index)]")
            try check(value.afterMs, "\(place).values[\(index)]")
        }
    }

    private func checkConversations() throws(ProfileError) {
        guard exchangeCount <= Self.maximumExchanges else {
            throw ProfileError("conversations", "more than \(Self.maximumExchanges) exchanges")
        }
        let values = conversations.reduce(0) { $0 + $1.exchanges.reduce(0) { $0 + ($1.values?.count ?? 0) } }
        guard values <= Self.maximumValues else {
            throw ProfileError("conversations", "more than \(Self.maximumValues) values")
        }
        for (number, conversation) in conversations.enumerated() {
            for (index, exchange) in conversation.exchanges.enumerated() {
                let place = "conversations[\(number)].exchanges[\(index)]"
                guard (exchange.request == .connect) == (exchange.handle == nil) else {
                    throw ProfileError(
                        place,
                        exchange.handle == nil
                            ? "the \(exchange.request.rawValue) has no handle" : "connect has a handle")
                }
                try check(exchange.value, place)
                try check(exchange.response, exchange.values, place)
            }
        }
    }

    private func checkRules() throws(ProfileError) {
        guard rules.count <= Self.maximumRules else {
            throw ProfileError("rules", "more than \(Self.maximumRules) rules")
        }
        let names = Set(rules.compactMap(\.name))
        for (index, rule) in rules.enumerated() {
            let place = "rules[\(index)]"
            if let then = rule.then, !names.contains(then) {
                throw ProfileError(place, "'then' names the rule '\(then.prefix(60))', which does not exist")
            }
            try check(rule.response, rule.values, place)
        }
    }
}
