"""Published results, reproduced: a study is a folder of documents that anyone can copy, with what the paper found."""
