/// A coding key by name.
private struct FieldName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension Encoder {
    /// Encodes a JSON object with every key. Synthesised encoding would leave out `nil`.
    package func encode(_ fields: KeyValuePairs<String, any Encodable>) throws {
        var object = container(keyedBy: FieldName.self)
        for (key, value) in fields { try object.encode(value, forKey: FieldName(stringValue: key)) }
    }
}
